package skills

import (
	"bytes"
	"path"
	"strings"
	"unicode/utf8"
)

// mediaTypes are the types of the files that skills carry, by extension. The
// tables of the system differ from machine to machine and are not asked.
var mediaTypes = map[string]string{
	".bash": "text/x-shellscript", ".bat": "text/plain", ".c": "text/x-c", ".cfg": "text/plain", ".cmd": "text/plain",
	".conf": "text/plain", ".cpp": "text/x-c++", ".cs": "text/x-csharp", ".css": "text/css", ".csv": "text/csv",
	".go": "text/x-go", ".graphql": "application/graphql", ".h": "text/x-c", ".htm": "text/html", ".html": "text/html",
	".ini": "text/plain", ".java": "text/x-java", ".js": "text/javascript", ".json": "application/json",
	".jsonl": "application/jsonl", ".jsx": "text/javascript", ".kt": "text/x-kotlin", ".log": "text/plain",
	".lua": "text/x-lua", ".markdown": "text/markdown", ".md": "text/markdown", ".mdx": "text/markdown",
	".mjs": "text/javascript", ".php": "text/x-php", ".pl": "text/x-perl", ".ps1": "text/plain", ".py": "text/x-python",
	".r": "text/plain", ".rb": "text/x-ruby", ".rs": "text/x-rust", ".rst": "text/x-rst", ".scss": "text/x-scss",
	".sh": "text/x-shellscript", ".sql": "application/sql", ".svg": "image/svg+xml", ".swift": "text/x-swift",
	".tex": "text/x-tex", ".toml": "application/toml", ".ts": "text/x-typescript", ".tsv": "text/tab-separated-values",
	".tsx": "text/x-typescript", ".txt": "text/plain", ".xml": "application/xml", ".xsd": "application/xml",
	".yaml": "application/yaml", ".yml": "application/yaml",
}

// magic are the beginnings of the binary files that skills carry. Their types
// are told by content alone, since a model takes an image for what it is said
// to be.
var magic = []struct{ prefix, mediaType string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"%PDF-", "application/pdf"},
	{"PK\x03\x04", "application/zip"},
	{"\x1f\x8b", "application/gzip"},
	{"wOF2", "font/woff2"},
	{"wOFF", "font/woff"},
	{"\x00\x01\x00\x00", "font/ttf"},
	{"OTTO", "font/otf"},
}

// officeTypes are zip files that are known by their extension.
var officeTypes = map[string]string{
	".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
	".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
	".epub": "application/epub+zip",
	".jar":  "application/java-archive",
	".odt":  "application/vnd.oasis.opendocument.text",
}

// mediaType returns the media type of a file and whether it is binary. What is
// UTF-8 without NUL is text, whatever its name says; a PDF is not text though
// it may look so.
func mediaType(name string, content []byte) (typ string, binary bool) {
	ext := strings.ToLower(path.Ext(name))
	for _, m := range magic {
		if bytes.HasPrefix(content, []byte(m.prefix)) && (m.mediaType == "application/pdf" || !isText(content)) {
			if office, ok := officeTypes[ext]; ok && m.mediaType == "application/zip" {
				return office, true
			}
			return m.mediaType, true
		}
	}
	switch {
	case !isText(content):
		if len(content) >= 12 && string(content[:4]) == "RIFF" && string(content[8:12]) == "WEBP" {
			return "image/webp", true
		}
		return "application/octet-stream", true
	case mediaTypes[ext] != "":
		return mediaTypes[ext], false
	}
	return "text/plain", false
}

func isText(content []byte) bool {
	return utf8.Valid(content) && bytes.IndexByte(content, 0) < 0
}

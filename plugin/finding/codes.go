package finding

// The codes, by what they are about. [Lookup] says the rest of each.
const (
	// About the plugin root and plugin.json.

	ManifestMissing                  Code = "manifest-missing"                    // the plugin root has no file named exactly plugin.json
	ManifestNotRegular               Code = "manifest-not-regular"                // plugin.json is a directory, FIFO, device or dangling link
	ManifestEscapes                  Code = "manifest-escapes"                    // plugin.json resolves outside the plugin root
	ManifestUnreadable               Code = "manifest-unreadable"                 // plugin.json cannot be read
	ManifestTooLarge                 Code = "manifest-too-large"                  // plugin.json is over the size limit
	ManifestInvalidEncoding          Code = "manifest-invalid-encoding"           // plugin.json is not UTF-8
	ManifestInvalidJSON              Code = "manifest-invalid-json"               // plugin.json is not JSON
	ManifestTooComplex               Code = "manifest-too-complex"                // plugin.json is nested too deep
	ManifestNotObject                Code = "manifest-not-object"                 // the top-level value of plugin.json is no object
	ManifestDuplicateMember          Code = "manifest-duplicate-member"           // a permitted member stands twice
	ManifestUnpairedSurrogate        Code = "manifest-unpaired-surrogate"         // a permitted member has an escape that is half a character
	ManifestSchemaMissing            Code = "manifest-schema-missing"             // $schema is missing or empty
	ManifestSchemaUnrecognized       Code = "manifest-schema-unrecognized"        // $schema is no canonical identifier
	ManifestVersionUnsupported       Code = "manifest-version-unsupported"        // $schema names a version of the specification that is not supported
	ManifestNameMissing              Code = "manifest-name-missing"               // name is missing or empty
	ManifestNameInvalid              Code = "manifest-name-invalid"               // name breaks the rules for plugin names
	ManifestWrongType                Code = "manifest-wrong-type"                 // a permitted member has the wrong JSON type
	ManifestAuthorMember             Code = "manifest-author-member"              // author has a member other than name, email and url
	ManifestUnknownField             Code = "manifest-unknown-field"              // a top-level member is not part of the manifest; it is ignored
	ManifestDuplicateIgnored         Code = "manifest-duplicate-ignored"          // something that is ignored or never validated stands twice
	ManifestUnpairedSurrogateIgnored Code = "manifest-unpaired-surrogate-ignored" // something that is ignored or never validated has an escape that is half a character
	ManifestExtensionsNotObject      Code = "manifest-extensions-not-object"      // extensions is no object; it is ignored
	ManifestExtensionNotObject       Code = "manifest-extension-not-object"       // an extension namespace holds no object; it is ignored
	ByteOrderMark                    Code = "byte-order-mark"                     // a file begins with a byte order mark; it is ignored
	FindingsOmitted                  Code = "findings-omitted"                    // a file has more faults than are listed
	LintVersion                      Code = "lint-version"                        // version is not Semantic Versioning
	LintURL                          Code = "lint-url"                            // homepage, repository or author.url is no web address
	LintEmail                        Code = "lint-email"                          // author.email is no mail address
	LintLicense                      Code = "lint-license"                        // license has not the form of an SPDX expression
	LintNamespace                    Code = "lint-namespace"                      // an extension namespace is not a reverse-domain name
	LintMisplaced                    Code = "lint-misplaced"                      // what looks like a skill or like server configuration stands where no host looks for it
	LintNoComponent                  Code = "lint-no-component"                   // the plugin has neither a skill nor a server

	// About the skills directory.

	SkillsNotDirectory Code = "skills-not-directory" // skills is no directory
	SkillsEscapes      Code = "skills-escapes"       // skills resolves outside the plugin root
	SkillsUnreadable   Code = "skills-unreadable"    // the skills directory cannot be read
	SkillsTooMany      Code = "skills-too-many"      // there are more skills or directory entries than the limit; the first in order are loaded
	LintNoSkill        Code = "lint-no-skill"        // a directory in skills holds no SKILL.md, so it is no skill

	// About one skill.

	SkillEscapes               Code = "skill-escapes"                 // the skill directory or its SKILL.md resolves outside the plugin root
	SkillDanglingLink          Code = "skill-dangling-link"           // an entry of skills is a link that leads nowhere; it is no skill
	SkillFileNotRegular        Code = "skill-file-not-regular"        // SKILL.md is no regular file, or dangles; the directory is no skill
	SkillUnreadable            Code = "skill-unreadable"              // the skill directory or SKILL.md cannot be read
	SkillTooLarge              Code = "skill-too-large"               // SKILL.md is over the size limit
	SkillNoFrontmatter         Code = "skill-no-frontmatter"          // SKILL.md does not begin with a line that is ---
	SkillFrontmatterUnclosed   Code = "skill-frontmatter-unclosed"    // no line that is --- ends the frontmatter
	SkillFrontmatterTooLarge   Code = "skill-frontmatter-too-large"   // the frontmatter is over its size limit
	SkillInvalidEncoding       Code = "skill-invalid-encoding"        // the frontmatter is not UTF-8
	SkillInvalidYAML           Code = "skill-invalid-yaml"            // the frontmatter is not YAML
	SkillMultipleDocuments     Code = "skill-multiple-documents"      // the frontmatter holds a YAML document marker
	SkillFrontmatterNotMapping Code = "skill-frontmatter-not-mapping" // the frontmatter is no mapping
	SkillTooComplex            Code = "skill-too-complex"             // the frontmatter is nested too deep
	SkillDuplicateKey          Code = "skill-duplicate-key"           // a key stands twice in one mapping
	SkillKeyNotText            Code = "skill-key-not-text"            // a key is no plain text
	SkillMergeKey              Code = "skill-merge-key"               // the frontmatter uses a merge key
	SkillAliasExpansion        Code = "skill-alias-expansion"         // an alias refers to itself, or aliases expand beyond a small budget
	SkillCustomTag             Code = "skill-custom-tag"              // a value has a YAML tag beyond the core ones
	SkillNameMissing           Code = "skill-name-missing"            // name is missing or null
	SkillNameInvalid           Code = "skill-name-invalid"            // name breaks the rules for skill names
	SkillNameMismatch          Code = "skill-name-mismatch"           // name differs from the name of the skill directory
	SkillDescriptionMissing    Code = "skill-description-missing"     // description is missing, null or blank
	SkillDescriptionTooLong    Code = "skill-description-too-long"    // description is over 1,024 characters
	SkillCompatibilityTooLong  Code = "skill-compatibility-too-long"  // compatibility is over 500 characters
	SkillWrongType             Code = "skill-wrong-type"              // a key of the specification has a value of the wrong kind
	SkillMetadataValue         Code = "skill-metadata-value"          // a metadata value is a list or a mapping
	SkillAllowedToolsList      Code = "skill-allowed-tools-list"      // allowed-tools is a list
	SkillNotAString            Code = "skill-not-a-string"            // a value or metadata key that YAML reads as number, boolean or date is taken as its text
	SkillEmptyValue            Code = "skill-empty-value"             // an optional key has no value; it counts as absent
	SkillBodyEncoding          Code = "skill-body-encoding"           // the body is not UTF-8 throughout
	SkillUnknownKey            Code = "skill-unknown-key"             // a key is not part of the specification; it is kept for the host

	// About one skill that lenient mode keeps and strict mode skips.

	SkillNoFrontmatterLenient        Code = "skill-no-frontmatter-lenient"         // blank lines stand before the frontmatter; the skill is kept
	SkillInvalidYAMLLenient          Code = "skill-invalid-yaml-lenient"           // a plain value has a colon that YAML cannot read; it is read as text
	SkillNameMissingLenient          Code = "skill-name-missing-lenient"           // name is missing or null; the skill is offered under a name made from its directory
	SkillNameInvalidLenient          Code = "skill-name-invalid-lenient"           // name breaks the rules for skill names; the skill is offered under another
	SkillNameMismatchLenient         Code = "skill-name-mismatch-lenient"          // name differs from the name of the skill directory; the skill is kept
	SkillDescriptionTooLongLenient   Code = "skill-description-too-long-lenient"   // description is over 1,024 characters; it is kept whole
	SkillCompatibilityTooLongLenient Code = "skill-compatibility-too-long-lenient" // compatibility is over 500 characters; it is kept whole
	SkillMetadataValueLenient        Code = "skill-metadata-value-lenient"         // a metadata value is a list or a mapping; it is kept as its YAML text
	SkillAllowedToolsListLenient     Code = "skill-allowed-tools-list-lenient"     // allowed-tools is a list; its items are joined

	// About skills and the policy of a host.

	SkillShadowed     Code = "skill-shadowed"      // a skill of the same name comes first; this one is not offered
	SkillToolsRefused Code = "skill-tools-refused" // the skill asks for tools, and the host allows none of them

	// About what a skill holds, from an audit that the host asks for.

	SkillOverBudget      Code = "skill-over-budget"      // a text file is larger than the budget
	SkillSecret          Code = "skill-secret"           // a file holds what looks like a credential
	SkillHiddenText      Code = "skill-hidden-text"      // a file, its name or a value holds characters that do not show
	SkillInjectionMarker Code = "skill-injection-marker" // a file, its name or a value holds a marker of chat templates or prompts
	SkillProgram         Code = "skill-program"          // a file is a native program or WebAssembly
	SkillScript          Code = "skill-script"           // a file is a script or has an executable bit
	SkillAuditCut        Code = "skill-audit-cut"        // not everything was looked at

	// About mcp.json as a whole.

	MCPNotRegular         Code = "mcp-not-regular"         // mcp.json is a directory, FIFO, device or dangling link
	MCPEscapes            Code = "mcp-escapes"             // mcp.json resolves outside the plugin root
	MCPUnreadable         Code = "mcp-unreadable"          // mcp.json cannot be read
	MCPTooLarge           Code = "mcp-too-large"           // mcp.json is over the size limit
	MCPInvalidEncoding    Code = "mcp-invalid-encoding"    // mcp.json is not UTF-8
	MCPInvalidJSON        Code = "mcp-invalid-json"        // mcp.json is not JSON
	MCPTooComplex         Code = "mcp-too-complex"         // mcp.json is nested too deep
	MCPNotObject          Code = "mcp-not-object"          // the top-level value of mcp.json is no object
	MCPDuplicateMember    Code = "mcp-duplicate-member"    // $schema, mcpServers or an unknown member stands twice
	MCPUnpairedSurrogate  Code = "mcp-unpaired-surrogate"  // a top-level name or value has an escape that is half a character
	MCPUnknownField       Code = "mcp-unknown-field"       // mcp.json has a top-level member other than $schema and mcpServers
	MCPSchemaMissing      Code = "mcp-schema-missing"      // $schema is missing or empty
	MCPSchemaUnrecognized Code = "mcp-schema-unrecognized" // $schema is no canonical identifier
	MCPVersionUnsupported Code = "mcp-version-unsupported" // $schema names a version of the specification that is not supported
	MCPVersionMismatch    Code = "mcp-version-mismatch"    // mcp.json targets another version than plugin.json
	MCPServersMissing     Code = "mcp-servers-missing"     // mcpServers is missing
	MCPWrongType          Code = "mcp-wrong-type"          // $schema or mcpServers has the wrong JSON type
	MCPTooManyServers     Code = "mcp-too-many-servers"    // there are more servers than the limit; the first in order are loaded

	// About one server entry.

	ServerDuplicateName        Code = "server-duplicate-name"        // a server name stands twice; that name is skipped
	ServerNotObject            Code = "server-not-object"            // a server entry is no object
	ServerDuplicateMember      Code = "server-duplicate-member"      // a member of the entry stands twice
	ServerUnpairedSurrogate    Code = "server-unpaired-surrogate"    // the name or a value has an escape that is half a character
	ServerTypeMissing          Code = "server-type-missing"          // type is missing
	ServerTypeUnknown          Code = "server-type-unknown"          // type is none of stdio, streamable-http and sse
	ServerUnknownField         Code = "server-unknown-field"         // a member is not part of the entry
	ServerForeignField         Code = "server-foreign-field"         // a member belongs to another type of server
	ServerFieldMissing         Code = "server-field-missing"         // command or url is missing
	ServerWrongType            Code = "server-wrong-type"            // a member has the wrong JSON type
	ServerCommandInvalid       Code = "server-command-invalid"       // command is no bare name and no path that begins with ./
	ServerCommandShellLine     Code = "server-command-shell-line"    // command is a bare name with blanks, which looks like a shell line
	ServerCommandEscapes       Code = "server-command-escapes"       // command resolves outside the plugin root
	ServerCommandNotRegular    Code = "server-command-not-regular"   // command resolves to a directory or something else that is no file
	ServerCommandMissing       Code = "server-command-missing"       // command names a file that is not there
	ServerCwdInvalid           Code = "server-cwd-invalid"           // cwd has none of the three forms
	ServerCwdEscapes           Code = "server-cwd-escapes"           // cwd resolves outside the plugin root or the data directory
	ServerCwdNotDirectory      Code = "server-cwd-not-directory"     // cwd resolves to something that is no directory
	ServerCwdMissing           Code = "server-cwd-missing"           // cwd names a directory that is not there
	ServerPathTooLong          Code = "server-path-too-long"         // command or cwd is longer than 4,096 bytes
	ServerPathUnreadable       Code = "server-path-unreadable"       // command or cwd cannot be resolved because of an I/O error
	ServerNUL                  Code = "server-nul"                   // a command, argument, environment value or cwd has a NUL character
	ServerEnvName              Code = "server-env-name"              // an environment name is empty or has = or NUL
	ServerEnvReserved          Code = "server-env-reserved"          // env sets PLUGIN_ROOT or PLUGIN_DATA
	ServerURLInvalid           Code = "server-url-invalid"           // url is no absolute http or https URL with a host
	ServerURLUserinfo          Code = "server-url-userinfo"          // url has user information
	ServerURLFragment          Code = "server-url-fragment"          // url has a fragment
	ServerURLInsecure          Code = "server-url-insecure"          // url uses http for a host that is not loopback
	ServerHeaderName           Code = "server-header-name"           // a header name is no HTTP field name
	ServerHeaderValue          Code = "server-header-value"          // a header value is no HTTP field value
	ServerHeaderDuplicate      Code = "server-header-duplicate"      // two header names differ in letter case only
	ServerTransportUnsupported Code = "server-transport-unsupported" // the host does not support the transport of the entry
	ServerTransportDisabled    Code = "server-transport-disabled"    // the policy of the host disables the transport of the entry
	ServerCredential           Code = "server-credential"            // env, a header, an argument or url holds what looks like a credential
	LintPlaceholder            Code = "lint-placeholder"             // a value has a placeholder that nothing replaces

	// About a server that is to be started, when consent is asked for, or connected to.

	LaunchEnvLoadsCode   Code = "launch-env-loads-code"  // env sets a variable by which programs load or start code
	ConnectHeaderIgnored Code = "connect-header-ignored" // a header is one that HTTP or MCP generates; it is ignored
)

// Info is what the table says of a code.
type Info struct {
	Code     Code
	Severity Severity
	Boundary Boundary
	Layer    Layer
	Section  string // of the specification; empty where only the host asks
	Meaning  string // what is the case
	Advice   string // what to do about it
}

var table = []Info{
	// the plugin root and plugin.json
	{ManifestMissing, SeverityError, BoundaryPlugin, LayerSpec, "AP §4.1",
		"the plugin root has no file named exactly plugin.json",
		"Add a plugin.json with $schema and name; no other file replaces it."},
	{ManifestNotRegular, SeverityError, BoundaryPlugin, LayerSpec, "AP §4.1",
		"plugin.json is a directory, FIFO, device or dangling link",
		"Make plugin.json a regular file."},
	{ManifestEscapes, SeverityError, BoundaryPlugin, LayerSpec, "AP §4.1",
		"plugin.json resolves outside the plugin root",
		"Replace the link by the file itself."},
	{ManifestUnreadable, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.1",
		"plugin.json cannot be read",
		"Check the permissions of plugin.json."},
	{ManifestTooLarge, SeverityError, BoundaryPlugin, LayerSafety, "AP §5.1",
		"plugin.json is over the size limit",
		"Make plugin.json smaller; large data belongs in files of its own."},
	{ManifestInvalidEncoding, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.2",
		"plugin.json is not UTF-8",
		"Save plugin.json as UTF-8."},
	{ManifestInvalidJSON, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.2",
		"plugin.json is not JSON",
		"Correct the syntax; JSON has no comments and no trailing commas."},
	{ManifestTooComplex, SeverityError, BoundaryPlugin, LayerSafety, "AP §5.2",
		"plugin.json is nested too deep",
		"Flatten the document."},
	{ManifestNotObject, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.2",
		"the top-level value of plugin.json is no object",
		"Put the manifest in { }."},
	{ManifestDuplicateMember, SeverityError, BoundaryPlugin, LayerSafety, "AP §5.2",
		"a permitted member stands twice",
		"Remove one of the two; readers disagree about which one counts."},
	{ManifestUnpairedSurrogate, SeverityError, BoundaryPlugin, LayerSafety, "AP §5.2",
		"a permitted member has an escape that is half a character",
		"Write the character itself, or both halves of its escape."},
	{ManifestSchemaMissing, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.3",
		"$schema is missing or empty",
		"Add the canonical $schema identifier."},
	{ManifestSchemaUnrecognized, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.2",
		"$schema is no canonical identifier",
		"Write the canonical identifier to the letter."},
	{ManifestVersionUnsupported, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.2",
		"$schema names a version of the specification that is not supported",
		"Target a supported version, or use a host that knows this one."},
	{ManifestNameMissing, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.3",
		"name is missing or empty",
		"Add a name."},
	{ManifestNameInvalid, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.5",
		"name breaks the rules for plugin names",
		"Use 1 to 64 of a-z, 0-9, hyphen and period, alphanumeric at both ends, no -- and no .."},
	{ManifestWrongType, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.4",
		"a permitted member has the wrong JSON type",
		"Give the member the type that the specification asks for."},
	{ManifestAuthorMember, SeverityError, BoundaryPlugin, LayerSpec, "AP §5.4",
		"author has a member other than name, email and url",
		"Remove the member, or move it to extensions."},
	{ManifestUnknownField, SeverityWarning, BoundaryField, LayerSpec, "AP §5.2",
		"a top-level member is not part of the manifest; it is ignored",
		"Remove it; client-specific data belongs under extensions."},
	{ManifestDuplicateIgnored, SeverityWarning, BoundaryField, LayerSafety, "AP §5.2",
		"something that is ignored or never validated stands twice",
		"Remove one of the two."},
	{ManifestUnpairedSurrogateIgnored, SeverityWarning, BoundaryField, LayerSafety, "AP §5.2",
		"something that is ignored or never validated has an escape that is half a character",
		"Write the character itself, or both halves of its escape."},
	{ManifestExtensionsNotObject, SeverityWarning, BoundaryField, LayerSpec, "AP §8.1",
		"extensions is no object; it is ignored",
		"Make extensions an object keyed by namespace."},
	{ManifestExtensionNotObject, SeverityWarning, BoundaryField, LayerSpec, "AP §8.1",
		"an extension namespace holds no object; it is ignored",
		"Put the data of the namespace in an object."},
	{ByteOrderMark, SeverityInfo, BoundaryField, LayerSpec, "RFC 8259 §8.1",
		"a file begins with a byte order mark; it is ignored",
		"Save the file without a byte order mark."},
	{FindingsOmitted, SeverityInfo, BoundaryField, LayerSafety, "AP §11.3",
		"a file has more faults than are listed",
		"Correct the listed ones and load again."},
	{LintVersion, SeverityInfo, BoundaryField, LayerSpec, "AP §10.2",
		"version is not Semantic Versioning",
		"Use MAJOR.MINOR.PATCH."},
	{LintURL, SeverityInfo, BoundaryField, LayerSpec, "AP §5.4",
		"homepage, repository or author.url is no web address",
		"Write an absolute http or https URL."},
	{LintEmail, SeverityInfo, BoundaryField, LayerSpec, "AP §5.4",
		"author.email is no mail address",
		"Write an address such as name@example.com."},
	{LintLicense, SeverityInfo, BoundaryField, LayerSpec, "AP §5.4",
		"license has not the form of an SPDX expression",
		"Use an SPDX identifier such as MIT or Apache-2.0."},
	{LintNamespace, SeverityInfo, BoundaryField, LayerSpec, "AP §8",
		"an extension namespace is not a reverse-domain name",
		"Name the namespace after a domain, such as com.example.client."},
	{LintMisplaced, SeverityWarning, BoundaryField, LayerSpec, "AP §6.1",
		"what looks like a skill or like server configuration stands where no host looks for it",
		"Skills stand in skills/NAME/SKILL.md and servers in mcp.json, spelled exactly so: move or rename it."},
	{LintNoComponent, SeverityInfo, BoundaryField, LayerSpec, "AP §6.1",
		"the plugin has neither a skill nor a server",
		"Add a skill in skills/NAME/SKILL.md or a server in mcp.json."},
	// the skills directory
	{SkillsNotDirectory, SeverityError, BoundaryComponent, LayerSpec, "AP §6.2",
		"skills is no directory",
		"Make skills a directory."},
	{SkillsEscapes, SeverityError, BoundaryComponent, LayerSpec, "AP §4.1",
		"skills resolves outside the plugin root",
		"Replace the link by the directory itself."},
	{SkillsUnreadable, SeverityError, BoundaryComponent, LayerSpec, "AP §6.2",
		"the skills directory cannot be read",
		"Check the permissions of the directory."},
	{SkillsTooMany, SeverityError, BoundaryComponent, LayerSafety, "AP §7.1",
		"there are more skills or directory entries than the limit; the first in order are loaded",
		"Split the plugin."},
	{LintNoSkill, SeverityInfo, BoundaryField, LayerSpec, "AP §7.1",
		"a directory in skills holds no SKILL.md, so it is no skill",
		"Add a SKILL.md, or move what skills share out of skills."},
	// one skill
	{SkillEscapes, SeverityError, BoundarySkill, LayerSpec, "AP §4.1",
		"the skill directory or its SKILL.md resolves outside the plugin root",
		"Replace the link by what it points to."},
	{SkillDanglingLink, SeverityWarning, BoundarySkill, LayerSpec, "AP §7.1",
		"an entry of skills is a link that leads nowhere; it is no skill",
		"Remove the link or restore its target."},
	{SkillFileNotRegular, SeverityWarning, BoundarySkill, LayerSpec, "AP §7.1",
		"SKILL.md is no regular file, or dangles; the directory is no skill",
		"Make SKILL.md a regular file."},
	{SkillUnreadable, SeverityError, BoundarySkill, LayerSpec, "AP §7.1",
		"the skill directory or SKILL.md cannot be read",
		"Check the permissions."},
	{SkillTooLarge, SeverityError, BoundarySkill, LayerSafety, "AP §7.1",
		"SKILL.md is over the size limit",
		"Move detail to files under references/."},
	{SkillNoFrontmatter, SeverityError, BoundarySkill, LayerSpec, "AS",
		"SKILL.md does not begin with a line that is ---",
		"Begin the file with --- on its first line."},
	{SkillFrontmatterUnclosed, SeverityError, BoundarySkill, LayerSpec, "AS",
		"no line that is --- ends the frontmatter",
		"End the frontmatter with a line that is ---."},
	{SkillFrontmatterTooLarge, SeverityError, BoundarySkill, LayerSafety, "AS",
		"the frontmatter is over its size limit",
		"Move text to the body."},
	{SkillInvalidEncoding, SeverityError, BoundarySkill, LayerSpec, "AS",
		"the frontmatter is not UTF-8",
		"Save SKILL.md as UTF-8."},
	{SkillInvalidYAML, SeverityError, BoundarySkill, LayerSpec, "AS",
		"the frontmatter is not YAML",
		"Correct the syntax; a value with a colon and a blank stands in quotes."},
	{SkillMultipleDocuments, SeverityError, BoundarySkill, LayerSafety, "AS",
		"the frontmatter holds a YAML document marker",
		"Keep the frontmatter one document: no ... and no --- with text behind it."},
	{SkillFrontmatterNotMapping, SeverityError, BoundarySkill, LayerSpec, "AS",
		"the frontmatter is no mapping",
		"Write key: value lines."},
	{SkillTooComplex, SeverityError, BoundarySkill, LayerSafety, "AS",
		"the frontmatter is nested too deep",
		"Flatten the frontmatter."},
	{SkillDuplicateKey, SeverityError, BoundarySkill, LayerSafety, "AS",
		"a key stands twice in one mapping",
		"Remove one of the two."},
	{SkillKeyNotText, SeverityError, BoundarySkill, LayerSpec, "AS",
		"a key is no plain text",
		"Use a plain word as key."},
	{SkillMergeKey, SeverityError, BoundarySkill, LayerSafety, "AS",
		"the frontmatter uses a merge key",
		"Write out what << would bring in."},
	{SkillAliasExpansion, SeverityError, BoundarySkill, LayerSafety, "AS",
		"an alias refers to itself, or aliases expand beyond a small budget",
		"Write the values out."},
	{SkillCustomTag, SeverityError, BoundarySkill, LayerSafety, "AS",
		"a value has a YAML tag beyond the core ones",
		"Remove the tag."},
	{SkillNameMissing, SeverityError, BoundarySkill, LayerSpec, "AS",
		"name is missing or null",
		"Add name, equal to the directory name."},
	{SkillNameInvalid, SeverityError, BoundarySkill, LayerSpec, "AS",
		"name breaks the rules for skill names",
		"Use 1 to 64 of a-z, 0-9 and hyphen, no hyphen first, last or doubled."},
	{SkillNameMismatch, SeverityError, BoundarySkill, LayerSpec, "AS",
		"name differs from the name of the skill directory",
		"Rename one of the two."},
	{SkillDescriptionMissing, SeverityError, BoundarySkill, LayerSpec, "AS",
		"description is missing, null or blank",
		"Say what the skill does and when to use it."},
	{SkillDescriptionTooLong, SeverityError, BoundarySkill, LayerSpec, "AS",
		"description is over 1,024 characters",
		"Shorten it; detail belongs in the body."},
	{SkillCompatibilityTooLong, SeverityError, BoundarySkill, LayerSpec, "AS",
		"compatibility is over 500 characters",
		"Shorten it."},
	{SkillWrongType, SeverityError, BoundarySkill, LayerSpec, "AS",
		"a key of the specification has a value of the wrong kind",
		"Give the key the kind of value that the specification asks for."},
	{SkillMetadataValue, SeverityError, BoundarySkill, LayerSpec, "AS",
		"a metadata value is a list or a mapping",
		"Make it one string."},
	{SkillAllowedToolsList, SeverityError, BoundarySkill, LayerSpec, "AS",
		"allowed-tools is a list",
		"Write the tools in one line, separated by spaces."},
	{SkillNotAString, SeverityWarning, BoundaryField, LayerSpec, "AS",
		"a value or metadata key that YAML reads as number, boolean or date is taken as its text",
		"Put it in quotes."},
	{SkillEmptyValue, SeverityWarning, BoundaryField, LayerSpec, "AS",
		"an optional key has no value; it counts as absent",
		"Remove the key or give it a value."},
	{SkillBodyEncoding, SeverityWarning, BoundaryField, LayerSpec, "AS",
		"the body is not UTF-8 throughout",
		"Save SKILL.md as UTF-8."},
	{SkillUnknownKey, SeverityInfo, BoundaryField, LayerSpec, "AS",
		"a key is not part of the specification; it is kept for the host",
		"Nothing, if a client reads it; otherwise move it under metadata."},
	// one skill that lenient mode keeps and strict mode skips
	{SkillNoFrontmatterLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"blank lines stand before the frontmatter; the skill is kept",
		"Remove the blank lines; strict mode skips the skill."},
	{SkillInvalidYAMLLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"a plain value has a colon that YAML cannot read; it is read as text",
		"Put the value in quotes; strict mode skips the skill."},
	{SkillNameMissingLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"name is missing or null; the skill is offered under a name made from its directory",
		"Add name, equal to the directory name; strict mode skips the skill."},
	{SkillNameInvalidLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"name breaks the rules for skill names; the skill is offered under another",
		"Use 1 to 64 of a-z, 0-9 and hyphen, no hyphen first, last or doubled; strict mode skips the skill."},
	{SkillNameMismatchLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"name differs from the name of the skill directory; the skill is kept",
		"Rename one of the two; strict mode skips the skill."},
	{SkillDescriptionTooLongLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"description is over 1,024 characters; it is kept whole",
		"Shorten it; strict mode skips the skill."},
	{SkillCompatibilityTooLongLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"compatibility is over 500 characters; it is kept whole",
		"Shorten it; strict mode skips the skill."},
	{SkillMetadataValueLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"a metadata value is a list or a mapping; it is kept as its YAML text",
		"Make it one string; strict mode skips the skill."},
	{SkillAllowedToolsListLenient, SeverityWarning, BoundaryField, LayerPolicy, "AS",
		"allowed-tools is a list; its items are joined",
		"Write the tools in one line, separated by spaces; strict mode skips the skill."},
	// skills and the policy of a host
	{SkillShadowed, SeverityWarning, BoundarySkill, LayerPolicy, "",
		"a skill of the same name comes first; this one is not offered",
		"Rename one of the two, or leave one out."},
	{SkillToolsRefused, SeverityWarning, BoundarySkill, LayerPolicy, "AS",
		"the skill asks for tools, and the host allows none of them",
		"Allow some of its tools, or leave the skill out."},
	// what a skill holds, from an audit that the host asks for
	{SkillOverBudget, SeverityInfo, BoundaryField, LayerPolicy, "",
		"a text file is larger than the budget",
		"Split the file, so that only what is needed is read."},
	{SkillSecret, SeverityWarning, BoundaryField, LayerPolicy, "",
		"a file holds what looks like a credential",
		"Remove it from the file and its history, and revoke it."},
	{SkillHiddenText, SeverityWarning, BoundaryField, LayerPolicy, "",
		"a file, its name or a value holds characters that do not show",
		"Remove what is not meant to be read."},
	{SkillInjectionMarker, SeverityWarning, BoundaryField, LayerPolicy, "",
		"a file, its name or a value holds a marker of chat templates or prompts",
		"Read what follows; take the marker out where it is not needed."},
	{SkillProgram, SeverityWarning, BoundaryField, LayerPolicy, "",
		"a file is a native program or WebAssembly",
		"Ship the source, or say where the program comes from."},
	{SkillScript, SeverityInfo, BoundaryField, LayerPolicy, "",
		"a file is a script or has an executable bit",
		"Read it before anything runs it."},
	{SkillAuditCut, SeverityWarning, BoundarySkill, LayerPolicy, "",
		"not everything was looked at",
		"Raise the bounds of the audit, or look at the rest."},
	// mcp.json as a whole
	{MCPNotRegular, SeverityError, BoundaryComponent, LayerSpec, "AP §6.2",
		"mcp.json is a directory, FIFO, device or dangling link",
		"Make mcp.json a regular file."},
	{MCPEscapes, SeverityError, BoundaryComponent, LayerSpec, "AP §4.1",
		"mcp.json resolves outside the plugin root",
		"Replace the link by the file itself."},
	{MCPUnreadable, SeverityError, BoundaryComponent, LayerSpec, "AP §6.2",
		"mcp.json cannot be read",
		"Check the permissions of mcp.json."},
	{MCPTooLarge, SeverityError, BoundaryComponent, LayerSafety, "AP §7.2.2",
		"mcp.json is over the size limit",
		"Make mcp.json smaller."},
	{MCPInvalidEncoding, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.2",
		"mcp.json is not UTF-8",
		"Save mcp.json as UTF-8."},
	{MCPInvalidJSON, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.2",
		"mcp.json is not JSON",
		"Correct the syntax; JSON has no comments and no trailing commas."},
	{MCPTooComplex, SeverityError, BoundaryComponent, LayerSafety, "AP §7.2.2",
		"mcp.json is nested too deep",
		"Flatten or split the document."},
	{MCPNotObject, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.1",
		"the top-level value of mcp.json is no object",
		"Write { \"$schema\": …, \"mcpServers\": { … } }."},
	{MCPDuplicateMember, SeverityError, BoundaryComponent, LayerSafety, "AP §7.2.1",
		"$schema, mcpServers or an unknown member stands twice",
		"Remove one of the two."},
	{MCPUnpairedSurrogate, SeverityError, BoundaryComponent, LayerSafety, "AP §7.2.1",
		"a top-level name or value has an escape that is half a character",
		"Write the character itself, or both halves of its escape."},
	{MCPUnknownField, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.1",
		"mcp.json has a top-level member other than $schema and mcpServers",
		"Remove the member."},
	{MCPSchemaMissing, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.1",
		"$schema is missing or empty",
		"Add the canonical $schema identifier."},
	{MCPSchemaUnrecognized, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.1",
		"$schema is no canonical identifier",
		"Write the canonical identifier to the letter."},
	{MCPVersionUnsupported, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.2",
		"$schema names a version of the specification that is not supported",
		"Target a supported version."},
	{MCPVersionMismatch, SeverityError, BoundaryComponent, LayerSpec, "AP §10.1",
		"mcp.json targets another version than plugin.json",
		"Use one version in both files."},
	{MCPServersMissing, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.1",
		"mcpServers is missing",
		"Add mcpServers; {} is valid."},
	{MCPWrongType, SeverityError, BoundaryComponent, LayerSpec, "AP §7.2.1",
		"$schema or mcpServers has the wrong JSON type",
		"$schema is a string, mcpServers an object."},
	{MCPTooManyServers, SeverityError, BoundaryComponent, LayerSafety, "AP §7.2.1",
		"there are more servers than the limit; the first in order are loaded",
		"Split the plugin."},
	// one server entry
	{ServerDuplicateName, SeverityError, BoundaryServer, LayerSafety, "AP §7.2.1",
		"a server name stands twice; that name is skipped",
		"Rename or remove one of the two."},
	{ServerNotObject, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"a server entry is no object",
		"Make the entry an object with a type."},
	{ServerDuplicateMember, SeverityError, BoundaryServer, LayerSafety, "AP §7.2.1",
		"a member of the entry stands twice",
		"Remove one of the two."},
	{ServerUnpairedSurrogate, SeverityError, BoundaryServer, LayerSafety, "AP §7.2.1",
		"the name or a value has an escape that is half a character",
		"Write the character itself, or both halves of its escape."},
	{ServerTypeMissing, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"type is missing",
		"Add type: stdio, streamable-http or sse."},
	{ServerTypeUnknown, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"type is none of stdio, streamable-http and sse",
		"Use one of the three."},
	{ServerUnknownField, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"a member is not part of the entry",
		"Remove the member."},
	{ServerForeignField, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"a member belongs to another type of server",
		"Remove the member or change type."},
	{ServerFieldMissing, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"command or url is missing",
		"Add the member."},
	{ServerWrongType, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"a member has the wrong JSON type",
		"Give the member the type that the specification asks for."},
	{ServerCommandInvalid, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"command is no bare name and no path that begins with ./",
		"Write a name that is searched for, or ./ and a path in the plugin."},
	{ServerCommandShellLine, SeverityError, BoundaryServer, LayerSafety, "AP §7.2.1",
		"command is a bare name with blanks, which looks like a shell line",
		"Move the arguments to args."},
	{ServerCommandEscapes, SeverityError, BoundaryServer, LayerSpec, "AP §4.1",
		"command resolves outside the plugin root",
		"Ship the program inside the plugin."},
	{ServerCommandNotRegular, SeverityError, BoundaryServer, LayerSafety, "AP §7.2.1",
		"command resolves to a directory or something else that is no file",
		"Name the program file."},
	{ServerCommandMissing, SeverityWarning, BoundaryField, LayerSpec, "AP §7.2.1",
		"command names a file that is not there",
		"Ship the file, or correct the path."},
	{ServerCwdInvalid, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"cwd has none of the three forms",
		"Begin with ./, ${PLUGIN_ROOT} or ${PLUGIN_DATA}, or leave cwd out."},
	{ServerCwdEscapes, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"cwd resolves outside the plugin root or the data directory",
		"Choose a directory inside."},
	{ServerCwdNotDirectory, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"cwd resolves to something that is no directory",
		"Name a directory."},
	{ServerCwdMissing, SeverityWarning, BoundaryField, LayerSpec, "AP §7.2.1",
		"cwd names a directory that is not there",
		"Ship the directory, or correct the path."},
	{ServerPathTooLong, SeverityError, BoundaryServer, LayerSafety, "AP §4.1",
		"command or cwd is longer than 4,096 bytes",
		"Shorten the path."},
	{ServerPathUnreadable, SeverityError, BoundaryServer, LayerSpec, "AP §4.1",
		"command or cwd cannot be resolved because of an I/O error",
		"Check the permissions on the way."},
	{ServerNUL, SeverityError, BoundaryServer, LayerSafety, "AP §7.2.1",
		"a command, argument, environment value or cwd has a NUL character",
		"Remove the character."},
	{ServerEnvName, SeverityError, BoundaryServer, LayerSafety, "AP §9.1",
		"an environment name is empty or has = or NUL",
		"Correct the name."},
	{ServerEnvReserved, SeverityError, BoundaryServer, LayerSpec, "AP §9.2",
		"env sets PLUGIN_ROOT or PLUGIN_DATA",
		"Remove the entry; the client sets both."},
	{ServerURLInvalid, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"url is no absolute http or https URL with a host",
		"Write https://host/path."},
	{ServerURLUserinfo, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"url has user information",
		"Remove what stands before @; credentials come from the host."},
	{ServerURLFragment, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"url has a fragment",
		"Remove # and what follows."},
	{ServerURLInsecure, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"url uses http for a host that is not loopback",
		"Use https; http is for localhost, 127.0.0.0/8 and [::1] only."},
	{ServerHeaderName, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"a header name is no HTTP field name",
		"Use letters, digits and hyphens."},
	{ServerHeaderValue, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"a header value is no HTTP field value",
		"Remove control characters and blanks at the ends."},
	{ServerHeaderDuplicate, SeverityError, BoundaryServer, LayerSpec, "AP §7.2.1",
		"two header names differ in letter case only",
		"Remove one of the two."},
	{ServerTransportUnsupported, SeverityInfo, BoundaryServer, LayerPolicy, "AP §7.2.2",
		"the host does not support the transport of the entry",
		"Nothing; the entry is valid."},
	{ServerTransportDisabled, SeverityInfo, BoundaryServer, LayerPolicy, "AP §7.2.2",
		"the policy of the host disables the transport of the entry",
		"Ask whoever configures the host."},
	{ServerCredential, SeverityWarning, BoundaryField, LayerPolicy, "AP §7.2.1, AP §9.2",
		"env, a header, an argument or url holds what looks like a credential",
		"Remove it and revoke it; credentials come from the host."},
	{LintPlaceholder, SeverityWarning, BoundaryField, LayerSpec, "AP §9.2",
		"a value has a placeholder that nothing replaces",
		"Only ${PLUGIN_ROOT} and ${PLUGIN_DATA} are replaced, in args, env and cwd; leave the rest to the environment and the host."},
	// a server that is to be started or connected to
	{LaunchEnvLoadsCode, SeverityWarning, BoundaryField, LayerPolicy, "AP §9.1",
		"env sets a variable by which programs load or start code",
		"Look at the value before you allow the server."},
	{ConnectHeaderIgnored, SeverityWarning, BoundaryField, LayerSpec, "AP §7.2.1",
		"a header is one that HTTP or MCP generates; it is ignored",
		"Remove the header; the client sets it where it is needed."},
}

var byCode = func() map[Code]int {
	m := make(map[Code]int, len(table))
	for i, info := range table {
		m[info.Code] = i
	}
	return m
}()

// Lookup returns the table's entry for a code, or false for a code that is not
// in it.
func Lookup(code Code) (Info, bool) {
	i, ok := byCode[code]
	if !ok {
		return Info{}, false
	}
	return table[i], true
}

// All returns a copy of the whole table, in the order of the documentation.
func All() []Info { return append([]Info(nil), table...) }

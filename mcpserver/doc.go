// Package mcpserver gives each run of an agent an MCP endpoint of its own, on
// one URL, by a bearer token.
package mcpserver

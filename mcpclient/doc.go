// Package mcpclient runs the MCP servers of plugin packages: it starts or
// connects to them, bounds and cleans what they send, and gives their tools to
// the host as one flat list.
package mcpclient

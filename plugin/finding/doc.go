// Package finding says what a problem of a plugin package is.
//
// Loading does not stop at the first fault, and most faults do not stop the
// load at all: they cost one skill, one server or one field. Each fault is a
// [Finding], a value with a stable [Code], a severity, the boundary that it is
// confined to, a position down to the column and a message that tells an
// author what to change.
//
// Sections are those of the Agent Plugins Specification (AP, which is
// https://github.com/agentplugins/agent-plugins-spec) and the Agent Skills
// specification (AS, https://github.com/agentskills/agentskills).
//
// All codes stand in one table. [Lookup] gives a code's entry and [All] the
// whole table; docs/findings.md is made from it. Codes are a promise: one that
// has been released keeps its meaning.
//
// A finding's Subject, File and Pointer hold names as the package gave them.
// [Finding.String] and log output escape what does not print; use them rather
// than the fields when you show a finding to a person. The JSON form keeps all
// that JSON can hold and escapes only bytes that are not UTF-8. Message is
// escaped already.
package finding

// Package expand replaces the two placeholders of the Agent Plugins
// Specification, ${PLUGIN_ROOT} and ${PLUGIN_DATA} (AP §9.2, of
// https://github.com/agentplugins/agent-plugins-spec).
//
// The replacement is a single pass: what it brings in is not scanned again,
// even when the plugin root's own path contains "${PLUGIN_DATA}". Nothing else
// is a placeholder: $PLUGIN_ROOT, ${PLUGIN_ROOT_X}, ${HOME} and %PLUGIN_ROOT%
// stay as they are.
//
// Where expansion applies is not this package's business: args, env values and
// cwd of a stdio server, and nowhere else. See plugin.Plugin.LaunchPlan.
package expand

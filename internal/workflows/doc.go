// Package workflows tests the files that run on GitHub: the workflow of this
// repository, the action that other repositories use, and the workflow that
// examples/inspect offers to be copied. It holds nothing else.
package workflows

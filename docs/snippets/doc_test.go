// Package snippets holds the Go that the documents show, where no example of a
// package has it: a file for each page, and packages_test.go for the comments of
// packages. The tests of docs look here for what a page shows. What can be run
// here is run.
package snippets

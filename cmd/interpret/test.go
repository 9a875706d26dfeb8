package main

import "strings"

// isCaseFile says whether a file of a directory holds cases rather than customizations.
func isCaseFile(path string) bool { return strings.HasSuffix(path, "-test.yaml") }

// Package planfile reads plans of assignments from YAML files and from Markdown files
// with front matter, and remembers in which line each field stands.
//
// A YAML document is one entry, a list of entries, or a plan: a mapping with
// "assignments" and defaults for them. A file may hold several documents. A Markdown
// file is one entry, whose text becomes its description, several entries, each with
// front matter of its own, or a plan, whose sections describe the entries. The package
// checks the form only; what an entry may say is the ledger's to decide.
package planfile

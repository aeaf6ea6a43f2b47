package prompts

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the texts in a prompt. What is over a limit is cut and marked; the
// tools give the whole.
const (
	// MaxLine is the longest single-line field, in bytes.
	MaxLine = 2_000
	// MaxBlock is the longest fenced text, in bytes.
	MaxBlock = 16_384
	// MaxList is the most entries of a list of paths, criteria or documents.
	MaxList = 100
	// MaxReviews is the most handoffs that one review prompt lists.
	MaxReviews = 20
	// MaxProjectDoc is the most of AGENTS.md that a thread is given, in bytes:
	// the limit of Codex itself.
	MaxProjectDoc = 32_768
)

const cutLine = " … (cut)"

// line makes a text safe inside a line of a prompt: every line break and run of
// white space becomes one space, and what is invisible is removed.
func line(text string) string {
	collapsed := strings.Join(strings.Fields(clean(text)), " ")
	if len(collapsed) <= MaxLine {
		return collapsed
	}
	return cutAt(collapsed, MaxLine-len(cutLine)) + cutLine
}

// quoted is line in double quotes, with the quotes inside escaped.
func quoted(text string) string { return strconv.Quote(line(text)) }

// code is line in a code span whose delimiter is longer than any run of
// backticks inside; an empty text is "(none)".
func code(text string) string {
	one := line(text)
	if one == "" {
		return "(none)"
	}
	longest := longestRun(one, '`')
	if longest == 0 {
		return "`" + one + "`"
	}
	delimiter := strings.Repeat("`", longest+1)
	return delimiter + " " + one + " " + delimiter
}

// fenced is a block that holds the text as it is, in a fence that no line of
// the text can close.
func fenced(text string) string { return fence(text, MaxBlock) }

// projectDoc is fenced with the limit that Codex has for AGENTS.md.
func projectDoc(text string) string { return fence(text, MaxProjectDoc) }

func fence(text string, limit int) string {
	body := strings.Trim(clean(text), "\n")
	note := ""
	if len(body) > limit {
		note = "\n(The text above was cut after " + strconv.Itoa(limit) + " bytes.)"
		body = cutAt(body, limit)
	}
	bar := strings.Repeat("`", max(3, longestRun(body, '`')+1))
	return bar + "text\n" + body + "\n" + bar + note
}

// clean makes a text valid UTF-8 with "\n" as its only line break, and removes
// control characters and those that hide or reorder what a reader sees.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r' || r == '\v' || r == '\f' || r == '\u0085' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r) || hidden(r):
			return -1
		}
		return r
	}, text)
}

// hidden tells the characters that reorder text (bidirectional controls) or
// that only a machine sees (tags, the byte order mark).
func hidden(r rune) bool {
	return r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069' ||
		r >= '\U000E0000' && r <= '\U000E007F' || r == '\uFEFF'
}

// cutAt returns at most n bytes of the text and splits no character.
func cutAt(text string, n int) string {
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func longestRun(text string, of byte) int {
	longest, run := 0, 0
	for i := range len(text) {
		if text[i] == of {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return longest
}

package models

import "slices"

// CodeFacts are what the catalogue says of one code: the words of docs/errors.md
// and of `cox explain`, and the exit code of every command that ends with it.
type CodeFacts struct {
	Code    Code     `json:"code"`
	Exit    Exit     `json:"exit_code"`
	Meaning string   `json:"meaning"` // one sentence
	Causes  []string `json:"causes"`  // the usual ones, the most usual first
	Next    string   `json:"next"`    // what to type or do, where the error itself names nothing better
}

// Catalogue lists every code once, by name. An error with a code that is missing
// here is a mistake of the program, which the tests look for.
func Catalogue() []CodeFacts {
	all := slices.Concat(inputCodes(), conflictCodes(), refusalCodes(), outageCodes())
	slices.SortFunc(all, func(a, b CodeFacts) int {
		if a.Code < b.Code {
			return -1
		}
		return 1
	})
	return all
}

// Facts finds the code in the catalogue.
func (c Code) Facts() (CodeFacts, bool) {
	for _, f := range Catalogue() {
		if f.Code == c {
			return f, true
		}
	}
	return CodeFacts{}, false
}

// Exit is the exit code of a command that ends with an error of this code;
// ExitInternal for one that the catalogue lacks.
func (c Code) Exit() Exit {
	if f, ok := c.Facts(); ok {
		return f.Exit
	}
	return ExitInternal
}

// inputCodes are the errors that another input avoids.
func inputCodes() []CodeFacts {
	return []CodeFacts{
		{
			CodeInvalidArgument, ExitUsage,
			"A flag, an argument or a field holds what it may not hold, or what does not fit the state of the thing it names.",
			[]string{
				"a flag is unknown, stands behind the argument, or lacks its value",
				"a number, an id, a path or a JSON text has the wrong form; details.field names which",
				"the state forbids it: work on what is accepted, a second answer, a heartbeat of a run that ended",
			},
			"cox COMMAND --help; it shows the flags with an example that works",
		},
		{
			CodeDependencyCycle, ExitUsage,
			"The dependencies would form a circle, in which nothing could ever start.",
			[]string{"an assignment depends on itself, or on one that waits for it; details.path shows the circle"},
			"leave out one of the dependencies that details.path names",
		},
		{
			CodeSecretDetected, ExitUsage,
			"A text looks like a secret, and nothing was stored. The message names field and rule, never the value.",
			[]string{"a token, key, password, cookie or private key in a title, summary, note, metadata or other free text"},
			"remove the secret and say where it is kept instead of what it is",
		},
		{
			CodeNotFound, ExitNotFound,
			"Nothing in the ledger has that id, or there is no ledger yet.",
			[]string{
				"the id is misspelt, or belongs to another ledger (--state-dir, --db)",
				"nothing was registered yet, so that there is no ledger",
				"a base commit is not in the repository",
			},
			"the list command of the same noun, such as cox assignment list; cox workspace add . makes the first ledger",
		},
	}
}

// conflictCodes are the errors about what somebody else did first.
func conflictCodes() []CodeFacts {
	return []CodeFacts{
		{
			CodeLeaseConflict, ExitConflict,
			"Somebody else holds what the call needs.",
			[]string{
				"another actor has a live claim on the assignment",
				"another cox up or cox worker uses the same state directory",
				"another server has the database file open",
			},
			"wait for the holder, which the message names, or look at it: cox status",
		},
		{
			CodeStaleRevision, ExitConflict,
			"The assignment changed after the caller read it, and nothing was written.",
			[]string{"--base-revision, or a tool's base_revision, is older than the assignment's revision"},
			"cox assignment show ID; repeat with its revision if the call still makes sense",
		},
		{
			CodeVersionConflict, ExitConflict,
			"What the command relies on was changed by somebody else meanwhile.",
			[]string{"another person turned off the loop for whose work cox up --exit-when-done waits"},
			"look at the present state and repeat: cox status",
		},
		{
			CodeIdempotencyConflict, ExitConflict,
			"The id was used for something else, and nothing was written.",
			[]string{
				"--request-id or COX_REQUEST_ID repeats an id with another command or other arguments",
				"an entry of a plan has the id of an assignment with another contract",
			},
			"repeat the first call as it was, or take a fresh request id; cox assignment import --update edits what a plan changed",
		},
	}
}

// refusalCodes are the errors that no other wording avoids.
func refusalCodes() []CodeFacts {
	return []CodeFacts{
		{
			CodeForbidden, ExitForbidden,
			"The caller may not do this.",
			[]string{
				"who worked on an assignment decides its review, or answers its own question",
				"an agent touches a run, an assignment or a team that is not its own",
				"the role lacks the right, which is that of --actor where it is given: agents decide no reviews and call no work off",
				"the token of a tool server names no active binding",
			},
			"ask a person, or the team's integrator",
		},
		{
			CodeDependencyBlocked, ExitBlocked,
			"The assignment cannot start before the work that it depends on is accepted.",
			[]string{"a claim of an assignment whose dependencies are not all accepted; details.waits_for names them"},
			"cox assignment show ID; settle that dependency first",
		},
		{
			CodeInterrupted, ExitInterrupted,
			"The command was told to stop before it had finished.",
			[]string{"Ctrl-C or a stop signal", "the caller of a tool cancelled the call"},
			"repeat it; cox status shows what was done",
		},
		{
			CodeInternal, ExitInternal,
			"Something failed that no input explains.",
			[]string{"git or the file system failed below cox", "a fault in cox"},
			"read the message and the logs in the state directory; if it names nothing that you can mend, report it with cox version",
		},
	}
}

// outageCodes are the errors about something outside that is not to be had.
func outageCodes() []CodeFacts {
	return []CodeFacts{
		{
			CodeLedgerBusy, ExitUnavailable,
			"Another process held the ledger for longer than a write may wait; nothing was written.",
			[]string{"a process that was stopped in the middle of a write; the message names its pid where the ledger is a file", "a very slow disk, or a database that others keep busy"},
			"try again, or look at the process that holds it",
		},
		{
			CodeLedgerUnavailable, ExitUnavailable,
			"The ledger or a file beside it cannot be used.",
			[]string{
				"the state directory cannot be made or written", "the disk is full", "the path names a directory, or a file that is no ledger",
				"the database server is away, or does not let this user in", "the key of the ledger is missing, or is another one than the ledger was made with",
			},
			"check the path or the server that the message names; --state-dir, COX_STATE_DIR and COX_DB choose others",
		},
		{
			CodeSchemaVersionUnsupported, ExitUnavailable,
			"A newer cox wrote this ledger, and this one would not understand it.",
			[]string{"cox was downgraded, or two versions are installed"},
			"cox version; install the newer cox",
		},
		{
			CodeAdapterUnavailable, ExitUnavailable,
			"The agents cannot be reached: what runs them is missing, failed its probe, or does not answer.",
			[]string{
				"Codex is not installed, not on the PATH of the worker, or dies at its start",
				"Codex lacks something that the loop needs, or its sandbox failed the proof",
				"git is not installed",
			},
			"name Codex with --codex-bin or COX_CODEX_BIN; --adapter fake needs none",
		},
		{
			CodeEngineUnavailable, ExitUnavailable,
			"Temporal, or the worker that serves it, is not to be had.",
			[]string{
				"nothing answers at the address, or the namespace is unknown there",
				"cox-temporal is not installed beside cox",
				"a port is taken, or the child died at its start: its log says why",
			},
			"cox up; or name yours by --address or TEMPORAL_ADDRESS",
		},
	}
}

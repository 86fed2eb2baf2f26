// Oracle answers CEL questions with the API server's own environment (k8s.io/apiserver, compatibility version 1.36).
//
// It reads JSON lines on stdin and writes one JSON line for each, so that tests can compare ours with the real thing.
// `oracle bench` prints microseconds per evaluation instead. It is a test tool and no part of Sluice.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// Row is one question; the fields are those of the reference tables.
type Row struct {
	ID            string                     `json:"id"`
	Expr          string                     `json:"expr"`
	Env           string                     `json:"env"`
	Decl          string                     `json:"decl"`
	Vars          map[string]json.RawMessage `json:"vars"`
	Variables     []Variable                 `json:"variables"`
	TypedVars     bool                       `json:"typed_vars"`
	TypeEnv       []Declaration              `json:"type_env"`
	Container     string                     `json:"container"`
	DisableCheck  bool                       `json:"disable_check"`
	DisableMacros bool                       `json:"disable_macros"`
	Apply         bool                       `json:"apply"`
	Ask           string                     `json:"ask"`
	Schema        json.RawMessage            `json:"schema"`
	Root          bool                       `json:"root"`
}

// Variable is a named expression of a policy.
type Variable struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

// Declaration gives the type of a free variable.
type Declaration struct {
	Name string          `json:"name"`
	Type json.RawMessage `json:"type"`
}

// Answer is what the API server would do. Cost is absent where nothing ran.
type Answer struct {
	ID       string         `json:"id"`
	OK       bool           `json:"ok"`
	Value    any            `json:"value,omitempty"`
	Type     string         `json:"type,omitempty"`
	Error    string         `json:"error,omitempty"`
	Stage    string         `json:"stage"`
	Cost     *uint64        `json:"cost,omitempty"`
	Mutation map[string]any `json:"mutation,omitempty"`
	Estimate *Estimate      `json:"estimate,omitempty"`
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "bench" {
		bench()
		return
	}
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			write(out, answerLine(line))
			if in.Buffered() == 0 {
				out.Flush() // whoever asks row by row waits for this line
			}
		}
		if err != nil {
			return
		}
	}
}

func write(out *bufio.Writer, answer Answer) {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(answer); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", answer.ID, err)
		os.Exit(1)
	}
}

func answerLine(line []byte) (answer Answer) {
	var row Row
	if err := json.Unmarshal(line, &row); err != nil {
		return Answer{Stage: "row", Error: err.Error()}
	}
	defer func() { // cel-go panics on a few inputs; that is an answer too
		if r := recover(); r != nil {
			answer = Answer{ID: row.ID, Stage: "panic", Error: fmt.Sprint(r)}
		}
	}()
	switch row.Ask {
	case "estimate":
		return estimated(row)
	case "crd":
		return refusals(row)
	}
	return ask(row)
}

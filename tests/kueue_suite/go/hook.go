// Package sluicehook remembers what a suite's managerSetup asked of Kueue, so that a Sluice process can be given the
// same. The edited Kueue sources write into it.
package sluicehook

import (
	"runtime"
	"strings"
	"time"
)

const integrations = "sigs.k8s.io/kueue/pkg/controller/jobs/"

var (
	// Config is the *Configuration that core.SetupControllers was given.
	Config any
	// Jobs are the jobframework.Options of all job reconcilers and webhooks.
	Jobs []any
	// Kinds are the job kinds, in lower case, whose webhooks or reconcilers the suite made: the packages of Kueue's
	// integrations are named after them. True are those with a reconciler.
	Kinds map[string]bool
	// Scheduler says whether the suite started Kueue's scheduler.
	Scheduler bool
	// Options are those that suites give to the caches and the scheduler beside the configuration, by its path.
	Options map[string]any
	// ForceDeleteAfter is what Pods on unreachable nodes get, where the suite ends those by force.
	ForceDeleteAfter time.Duration
	// Note writes into the report of the running spec.
	Note = func(name, value string) {}
	// GatesChanged follows a change of feature gates while a manager runs.
	GatesChanged = func() {}
)

// Reset forgets what was asked.
func Reset() {
	Config, Jobs, Scheduler, ForceDeleteAfter = nil, nil, false, 0
	Kinds, Options = map[string]bool{}, map[string]any{}
}

// Kind remembers a job kind that the suite set up.
func Kind(name string, reconciler bool) {
	if Kinds != nil {
		name = strings.ToLower(name)
		Kinds[name] = Kinds[name] || reconciler
	}
}

// CalledFromKind remembers the job kind whose package called, for those that set themselves up.
func CalledFromKind() {
	callers := make([]uintptr, 16)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for {
		frame, more := frames.Next()
		if rest, ok := strings.CutPrefix(frame.Function, integrations); ok {
			name, function, _ := strings.Cut(rest[strings.LastIndex(rest, "/")+1:], ".")
			Kind(name, !strings.Contains(function, "Webhook"))
		}
		if !more {
			return
		}
	}
}

// Option remembers an option at its path in the configuration.
func Option(path string, value any) {
	if Options != nil {
		Options[path] = value
	}
}

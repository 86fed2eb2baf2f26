// Package sluicehook remembers what a suite's managerSetup asked of Kueue, so that a Sluice process can be given the
// same. The edited Kueue sources write into it.
package sluicehook

var (
	// Config is the *Configuration that core.SetupControllers was given.
	Config any
	// Jobs are the jobframework.Options of all job reconcilers and webhooks.
	Jobs []any
	// Scheduler says whether the suite started Kueue's scheduler.
	Scheduler bool
	// Options are those that suites give to the caches and the scheduler beside the configuration, by its path.
	Options map[string]any
	// Note writes into the report of the running spec.
	Note = func(name, value string) {}
	// GatesChanged follows a change of feature gates while a manager runs.
	GatesChanged = func() {}
)

// Reset forgets what was asked.
func Reset() { Config, Jobs, Scheduler, Options = nil, nil, false, map[string]any{} }

// Option remembers an option at its path in the configuration.
func Option(path string, value any) {
	if Options != nil {
		Options[path] = value
	}
}

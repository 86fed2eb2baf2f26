package util

import (
	"os"
	"time"
)

// How long the tests wait for what comes. Most of what does not come by the short ones never does; on a busy machine
// Kueue's own are asked for.
var (
	Timeout         = timeout(4*time.Second, 10*time.Second)
	MediumTimeout   = timeout(6*time.Second, 45*time.Second)
	LongTimeout     = timeout(8*time.Second, 90*time.Second)
	VeryLongTimeout = timeout(10*time.Second, 5*time.Minute)
)

func timeout(short, kueues time.Duration) time.Duration {
	if os.Getenv("SLUICE_PATIENT") != "" {
		return kueues
	}
	return short
}

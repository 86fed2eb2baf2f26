package util

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/onsi/ginkgo/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SluiceState is http://HOST:PORT of Sluice's plain port; empty while it does not run.
var SluiceState string

var fqName = regexp.MustCompile(`fqName: "([^"]*)"`)

// SluiceMetric looks for the metric in what Sluice serves, and notes the outcome; the spec goes on either way, so that
// what it says of behaviour is judged by itself.
func SluiceMetric(metric any, matches func(value float64) bool) {
	m, ok := metric.(prometheus.Metric)
	if !ok {
		return
	}
	name := fqName.FindStringSubmatch(m.Desc().String())[1]
	out := &dto.Metric{}
	_ = m.Write(out)
	var labels []string
	for _, pair := range out.Label {
		labels = append(labels, fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()))
	}
	sort.Strings(labels)
	key := name + "{" + strings.Join(labels, ",") + "}"
	outcome := "no Sluice"
	for end := time.Now().Add(1500 * time.Millisecond); ; time.Sleep(200 * time.Millisecond) {
		var value float64
		var family, found bool
		value, family, found = sluiceValue(name, labels)
		switch {
		case matches(value) && (found || value == 0):
			outcome = "ok"
		case !family:
			outcome = "no such family"
		case !found:
			outcome = "no such series"
		default:
			outcome = fmt.Sprintf("differs: %v", value)
		}
		if outcome == "ok" || outcome == "no such family" || time.Now().After(end) {
			break
		}
	}
	ginkgo.AddReportEntry("metric", key+" "+outcome, ginkgo.ReportEntryVisibilityNever)
}

func sluiceValue(name string, labels []string) (value float64, family, found bool) {
	if SluiceState == "" {
		return
	}
	answer, err := http.Get(SluiceState + "/metrics")
	if err != nil {
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "# TYPE "+name+" ") {
			family = true
		}
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, "_count")
		if !strings.HasPrefix(rest, "{") {
			continue
		}
		end := strings.LastIndex(rest, "}")
		have := strings.Split(rest[1:end], ",")
		sort.Strings(have)
		if strings.Join(have, ",") == strings.Join(labels, ",") {
			value, _ = strconv.ParseFloat(strings.TrimSpace(rest[end+1:]), 64)
			found = true
		}
	}
	return
}

// lenient: conditions are compared without their messages, to tell other words from other behaviour.
var lenient = os.Getenv("SLUICE_LENIENT") != ""

func init() {
	if lenient {
		IgnoreConditionTimestamps = cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime", "Message", "ObservedGeneration")
		IgnoreConditionTimestampsAndObservedGeneration = IgnoreConditionTimestamps
	}
}

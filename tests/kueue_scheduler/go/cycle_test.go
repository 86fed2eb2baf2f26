package scheduler

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/component-base/featuregate"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/features"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	utilqueue "sigs.k8s.io/kueue/pkg/util/queue"
	"sigs.k8s.io/kueue/pkg/util/routine"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

// cycleCase is one cluster at one moment.
type cycleCase struct {
	ID                    string            `json:"id"`
	Now                   time.Time         `json:"now"`
	FairSharing           bool              `json:"fairSharing"`
	FairSharingStrategies []string          `json:"fairSharingStrategies"`
	FeatureGates          map[string]bool   `json:"featureGates"`
	Objects               []json.RawMessage `json:"objects"`
}

type podSetAnswer struct {
	Name    string            `json:"name"`
	Count   int32             `json:"count"`
	Flavors map[string]string `json:"flavors"`
}

type admittedAnswer struct {
	ClusterQueue string         `json:"clusterQueue"`
	State        string         `json:"state"`
	PodSets      []podSetAnswer `json:"podSets"`
}

type pendingAnswer struct {
	Queue   string `json:"queue"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// cycleAnswer is what one scheduling cycle made of it.
type cycleAnswer struct {
	ID            string                    `json:"id"`
	Admitted      map[string]admittedAnswer `json:"admitted"`
	Preempted     map[string]string         `json:"preempted"`
	PreemptedBy   map[string]string         `json:"preemptedBy"`
	PendingDetail map[string]pendingAnswer  `json:"pendingDetail"`
}

const configuration = "Configuration"

var preemptorUID = regexp.MustCompile(`UID: ([^,)]+)`)

// TestSluiceCycles answers cases, each by what one scheduling cycle makes of it.
func TestSluiceCycles(t *testing.T) {
	answerLines(t, func(t *testing.T, line []byte) any {
		var asked cycleCase
		if err := json.Unmarshal(line, &asked); err != nil {
			t.Fatal(err)
		}
		return oneCycle(t, &asked)
	})
}

// answerLines answers each line of the file SLUICE_CASES by a line of JSON in the file SLUICE_ANSWERS.
func answerLines(t *testing.T, answer func(*testing.T, []byte) any) {
	in, err := os.Open(os.Getenv("SLUICE_CASES"))
	if err != nil {
		t.Skip("SLUICE_CASES names no file")
	}
	defer in.Close()
	out, err := os.Create(os.Getenv("SLUICE_ANSWERS"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 64<<20)
	answers := json.NewEncoder(out)
	for number := 1; lines.Scan(); number++ {
		t.Run(strconv.Itoa(number), func(t *testing.T) {
			if err := answers.Encode(answer(t, lines.Bytes())); err != nil {
				t.Fatal(err)
			}
		})
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

func oneCycle(t *testing.T, asked *cycleCase) *cycleAnswer {
	// The fake client cannot apply a status as a server does; what is decided does not change.
	gates := map[featuregate.Feature]bool{features.WorkloadRequestUseMergePatch: true}
	for name, enabled := range asked.FeatureGates {
		gates[featuregate.Feature(name)] = enabled
	}
	features.SetFeatureGatesDuringTest(t, gates)
	log := logOf(t)
	ctx := logr.NewContext(context.Background(), log)

	builder := utiltesting.NewClientBuilder().WithStatusSubresource(&kueue.Workload{}).WithInterceptorFuncs(
		interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge})
	objects, settings := objectsOf(t, asked.Objects), settingsOf(t, asked.Objects)
	cl := builder.WithObjects(objects...).Build()

	fairSharing := &config.FairSharing{}
	for _, strategy := range asked.FairSharingStrategies {
		fairSharing.PreemptionStrategies = append(fairSharing.PreemptionStrategies, config.PreemptionStrategy(strategy))
	}
	if !asked.FairSharing {
		fairSharing = nil
	}
	clock := testingclock.NewFakeClock(asked.Now)
	lately := &config.AdmissionFairSharing{ // of no effect without an admissionScope
		UsageHalfLifeTime:     metav1.Duration{Duration: 168 * time.Hour},
		UsageSamplingInterval: metav1.Duration{Duration: 5 * time.Minute},
	}
	cache := schdcache.New(cl, schdcache.WithFairSharing(asked.FairSharing), schdcache.WithAdmissionFairSharing(lately),
		schdcache.WithResourceTransformations(settings.Resources.Transformations))
	queues := qcache.NewManagerForUnitTests(cl, cache, qcache.WithClock(clock), qcache.WithAdmissionFairSharing(lately),
		qcache.WithResourceTransformations(settings.Resources.Transformations),
		qcache.WithPodsReadyRequeuingTimestamp(*settings.WaitForPodsReady.RequeuingStrategy.Timestamp))
	for _, object := range objects {
		switch obj := object.(type) {
		case *kueue.ResourceFlavor:
			cache.AddOrUpdateResourceFlavor(log, obj)
		case *kueue.AdmissionCheck:
			cache.AddOrUpdateAdmissionCheck(log, obj)
		}
	}
	for _, object := range objects {
		var err error
		switch obj := object.(type) {
		case *kueue.Cohort:
			if err := cache.AddOrUpdateCohort(obj); err != nil { // a cycle: its queues are not active
				t.Log(err)
			}
			queues.AddOrUpdateCohort(ctx, obj)
		case *kueue.ClusterQueue:
			if err = cache.AddClusterQueue(ctx, obj); err == nil {
				err = queues.AddClusterQueue(ctx, obj)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, object := range objects {
		if obj, is := object.(*kueue.LocalQueue); is && obj.Status.FairSharing != nil {
			used := obj.Status.FairSharing.AdmissionFairSharingStatus
			queues.AfsUsageLedger.SetForTest(utilqueue.Key(obj), used.ConsumedResources, used.LastUpdate.Time)
		}
		// Its controller takes a stopped one out.
		if obj, is := object.(*kueue.LocalQueue); is && (obj.Spec.StopPolicy == nil || *obj.Spec.StopPolicy == kueue.None) {
			if err := queues.AddLocalQueue(ctx, obj); err != nil {
				t.Fatal(err)
			}
		}
	}

	scheduler := New(queues, cache, cl, &utiltesting.EventRecorder{}, WithFairSharing(fairSharing),
		WithAdmissionFairSharing(lately), WithClock(t, clock), WithPreemptionExpectations(preemptexpectations.New()),
		WithPodsReadyRequeuingTimestamp(*settings.WaitForPodsReady.RequeuingStrategy.Timestamp))
	var routines sync.WaitGroup
	scheduler.setAdmissionRoutineWrapper(routine.NewWrapper(func() { routines.Add(1) }, func() { routines.Done() }))
	runCycle(ctx, scheduler, cache, queues, &routines)
	return answerOf(t, asked, objects, cl, queues)
}

// runCycle runs one cycle, unless no active queue has a head: a cycle would wait for one.
func runCycle(ctx context.Context, scheduler *Scheduler, cache *schdcache.Cache, queues *qcache.Manager, routines *sync.WaitGroup) {
	for name, heads := range queues.Dump() {
		if len(heads) > 0 && cache.ClusterQueueActive(name) {
			scheduler.schedule(ctx)
			routines.Wait()
			return
		}
	}
}

// workloadsOf gives all Workloads, by namespace and name.
func workloadsOf(t *testing.T, cl client.Client) map[string]*kueue.Workload {
	var list kueue.WorkloadList
	if err := cl.List(context.Background(), &list); err != nil {
		t.Fatal(err)
	}
	found := map[string]*kueue.Workload{}
	for i := range list.Items {
		found[list.Items[i].Namespace+"/"+list.Items[i].Name] = &list.Items[i]
	}
	return found
}

// logOf is Kueue's own log with `-test.v`: what it evaluates, and why. Otherwise it would take most of the time.
func logOf(t *testing.T) logr.Logger {
	if !testing.Verbose() {
		return logr.Discard()
	}
	_, log := utiltesting.ContextWithLog(t)
	return log
}

// settingsOf reads Kueue's Configuration, where it is among the objects. Gates are those of the case.
func settingsOf(t *testing.T, raws []json.RawMessage) *config.Configuration {
	found := &config.Configuration{
		Resources: &config.Resources{},
		WaitForPodsReady: &config.WaitForPodsReady{
			RequeuingStrategy: &config.RequeuingStrategy{Timestamp: new(config.EvictionTimestamp)},
		},
	}
	for _, raw := range raws {
		if kindOf(t, raw).Kind == configuration {
			if err := json.Unmarshal(raw, found); err != nil {
				t.Fatal(err)
			}
		}
	}
	return found
}

func kindOf(t *testing.T, raw json.RawMessage) (kind metav1.TypeMeta) {
	if err := json.Unmarshal(raw, &kind); err != nil {
		t.Fatal(err)
	}
	return kind
}

// objectsOf reads objects of any kind that Kueue keeps.
func objectsOf(t *testing.T, raws []json.RawMessage) []client.Object {
	scheme := utiltesting.NewFakeClient().Scheme()
	var objects []client.Object
	for _, raw := range raws {
		kind := kindOf(t, raw)
		if kind.Kind == configuration {
			continue
		}
		obj, err := scheme.New(schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, obj); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj.(client.Object))
	}
	return objects
}

func answerOf(t *testing.T, asked *cycleCase, objects []client.Object, cl client.Client, queues *qcache.Manager) *cycleAnswer {
	before := map[string]*kueue.Workload{}
	for _, object := range objects {
		if obj, is := object.(*kueue.Workload); is {
			before[obj.Namespace+"/"+obj.Name] = obj
		}
	}
	answer := decidedBetween(before, workloadsOf(t, cl), queues)
	answer.ID = asked.ID
	return answer
}

// decidedBetween says what a cycle made of workloads.
func decidedBetween(before, after map[string]*kueue.Workload, queues *qcache.Manager) *cycleAnswer {
	answer := &cycleAnswer{"", map[string]admittedAnswer{}, map[string]string{}, map[string]string{},
		map[string]pendingAnswer{}}
	names := map[string]string{}
	for name, obj := range before {
		names[string(obj.UID)] = name
	}
	active, parked := placesOf(queues.Dump()), placesOf(queues.DumpInadmissible())
	for name, obj := range after {
		old := before[name]
		preempted := meta.FindStatusCondition(obj.Status.Conditions, kueue.WorkloadPreempted)
		if preempted != nil && preempted.Status == metav1.ConditionTrue &&
			!meta.IsStatusConditionTrue(old.Status.Conditions, kueue.WorkloadPreempted) {
			answer.Preempted[name] = preempted.Reason
			if found := preemptorUID.FindStringSubmatch(preempted.Message); found != nil {
				answer.PreemptedBy[name] = names[found[1]]
			}
		}
		switch {
		case meta.IsStatusConditionTrue(obj.Status.Conditions, kueue.WorkloadFinished):
		case workload.HasQuotaReservation(obj):
			if !workload.HasQuotaReservation(old) {
				answer.Admitted[name] = admissionOf(obj)
			}
		default:
			detail := pendingAnswer{Queue: "none"}
			if active[name] {
				detail.Queue = "active"
			} else if parked[name] {
				detail.Queue = "inadmissible"
			}
			if said := meta.FindStatusCondition(obj.Status.Conditions, kueue.WorkloadQuotaReserved); said != nil {
				detail.Reason, detail.Message = said.Reason, said.Message
			}
			answer.PendingDetail[name] = detail
		}
	}
	return answer
}

func admissionOf(obj *kueue.Workload) admittedAnswer {
	answer := admittedAnswer{ClusterQueue: string(obj.Status.Admission.ClusterQueue), State: "QuotaReserved"}
	if workload.IsAdmitted(obj) {
		answer.State = "Admitted"
	}
	for _, set := range obj.Status.Admission.PodSetAssignments {
		flavors := map[string]string{}
		for name, flavor := range set.Flavors {
			flavors[string(name)] = string(flavor)
		}
		count := int32(0)
		if set.Count != nil {
			count = *set.Count
		}
		answer.PodSets = append(answer.PodSets, podSetAnswer{string(set.Name), count, flavors})
	}
	return answer
}

func placesOf(dump map[kueue.ClusterQueueReference][]workload.Reference) map[string]bool {
	found := map[string]bool{}
	for _, names := range dump {
		for _, name := range names {
			found[string(name)] = true
		}
	}
	return found
}

package scheduler

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-base/featuregate"
	testingclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
	qcache "sigs.k8s.io/kueue/pkg/cache/queue"
	schdcache "sigs.k8s.io/kueue/pkg/cache/scheduler"
	"sigs.k8s.io/kueue/pkg/controller/core"
	"sigs.k8s.io/kueue/pkg/features"
	preemptexpectations "sigs.k8s.io/kueue/pkg/scheduler/preemption/expectations"
	"sigs.k8s.io/kueue/pkg/util/routine"
	utiltesting "sigs.k8s.io/kueue/pkg/util/testing"
	"sigs.k8s.io/kueue/pkg/workload"
)

// trace is a cluster and what happens to it, step by step.
type trace struct {
	ID          string            `json:"id"`
	FairSharing bool              `json:"fairSharing"`
	Objects     []json.RawMessage `json:"objects"`
	Steps       []step            `json:"steps"`
}

// step is what happens before a cycle. Ends has a number for each workload whose eviction is under way: 0 ends it.
type step struct {
	Now    time.Time                    `json:"now"`
	Events []map[string]json.RawMessage `json:"events"`
	Ends   []int                        `json:"ends,omitempty"`
	Expect *stepAnswer                  `json:"expect,omitempty"`
}

type stepAnswer struct {
	Admitted      map[string]admittedAnswer `json:"admitted"`
	Preempted     map[string]string         `json:"preempted"`
	PreemptedBy   map[string]string         `json:"preemptedBy"`
	Pending       []string                  `json:"pending"`
	PendingDetail map[string]pendingAnswer  `json:"pendingDetail"`
}

// TestSluiceTraces lives through traces and answers each by itself, with what Kueue decided in each step.
func TestSluiceTraces(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	answerLines(t, func(t *testing.T, line []byte) any {
		var lived trace
		if err := json.Unmarshal(line, &lived); err != nil {
			t.Fatal(err)
		}
		live(t, &lived)
		return lived
	})
}

// cluster is Kueue without its API server: what the informers would tell is found by comparing objects.
type cluster struct {
	t         *testing.T
	ctx       context.Context
	clock     *testingclock.FakeClock
	client    client.Client
	cache     *schdcache.Cache
	queues    *qcache.Manager
	scheduler *Scheduler
	routines  *sync.WaitGroup
	retry     func()
	workloads *core.WorkloadReconciler
	clusterQs *core.ClusterQueueReconciler
	cohorts   *core.CohortReconciler
	seen      map[string]client.Object
	evicting  map[string]bool
}

func live(t *testing.T, lived *trace) {
	features.SetFeatureGatesDuringTest(t, map[featuregate.Feature]bool{features.WorkloadRequestUseMergePatch: true})
	c := newCluster(t, lived)
	for i := range lived.Steps {
		c.step(&lived.Steps[i])
	}
}

func newCluster(t *testing.T, lived *trace) *cluster {
	ctx := logr.NewContext(context.Background(), logOf(t))
	builder := utiltesting.NewClientBuilder().
		WithStatusSubresource(&kueue.Workload{}, &kueue.ClusterQueue{}, &kueue.Cohort{}).
		WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: utiltesting.TreatSSAAsStrategicMerge})
	objects, settings := objectsOf(t, lived.Objects), settingsOf(t, lived.Objects)
	cl := builder.WithObjects(objects...).Build()
	var fairSharing *config.FairSharing
	if lived.FairSharing {
		fairSharing = &config.FairSharing{}
	}
	clock := testingclock.NewFakeClock(lived.Steps[0].Now)
	expected := preemptexpectations.New()
	cache := schdcache.New(cl, schdcache.WithFairSharing(lived.FairSharing),
		schdcache.WithResourceTransformations(settings.Resources.Transformations))
	queues, requeuer := qcache.NewManagerForUnitTestsWithRequeuer(cl, cache, qcache.WithClock(clock),
		qcache.WithPreemptionExpectations(expected),
		qcache.WithResourceTransformations(settings.Resources.Transformations))
	recorder := &utiltesting.EventRecorder{}
	c := &cluster{t: t, ctx: ctx, clock: clock, client: cl, cache: cache, queues: queues, routines: &sync.WaitGroup{},
		retry:     func() { requeuer.ProcessRequeues(ctx) },
		workloads: core.NewWorkloadReconciler(cl, queues, cache, recorder, core.WithPreemptionExpectations(expected)),
		clusterQs: core.NewClusterQueueReconciler(cl, queues, cache, core.WithFairSharing(lived.FairSharing)),
		cohorts: core.NewCohortReconciler(cl, cache, queues,
			core.CohortReconcilerWithFairSharing(lived.FairSharing)),
		seen: map[string]client.Object{}, evicting: map[string]bool{},
	}
	c.scheduler = New(queues, cache, cl, recorder, WithFairSharing(fairSharing), WithClock(t, clock),
		WithPreemptionExpectations(expected))
	c.scheduler.setAdmissionRoutineWrapper(
		routine.NewWrapper(func() { c.routines.Add(1) }, func() { c.routines.Done() }))
	for _, object := range objects {
		if flavor, is := object.(*kueue.ResourceFlavor); is {
			cache.AddOrUpdateResourceFlavor(logr.Discard(), flavor)
		}
	}
	c.settle()
	for _, object := range objects {
		if queue, is := object.(*kueue.LocalQueue); is {
			if err := queues.AddLocalQueue(ctx, queue); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, object := range objects { // what waits is counted
		if queue, is := object.(*kueue.ClusterQueue); is {
			_, err := c.clusterQs.Reconcile(ctx, request("", queue.Name))
			c.must(err)
		}
	}
	c.settle()
	return c
}

func (c *cluster) step(s *step) {
	c.clock.SetTime(s.Now)
	asked := s.Events
	s.Events = []map[string]json.RawMessage{}
	if ended := c.ended(s); ended != nil {
		asked = append([]map[string]json.RawMessage{ended}, asked...)
	}
	for _, happened := range asked {
		for what, raw := range happened {
			if strings.HasSuffix(what, "Any") {
				if happened = c.written(what, raw); happened == nil {
					continue
				}
			}
			s.Events = append(s.Events, happened)
			for what, raw := range happened {
				c.happen(what, raw)
			}
		}
		c.settle()
	}
	c.retry()
	before := c.allWorkloads()
	runCycle(c.ctx, c.scheduler, c.cache, c.queues, c.routines)
	c.settle()
	s.Expect, s.Ends = c.answer(before), nil
}

// written makes an event of one that leaves its workload open; nil if there is none. A number chooses by name.
func (c *cluster) written(what string, raw json.RawMessage) map[string]json.RawMessage {
	var number, priority int
	if what == "priorityAny" {
		var pair [2]int
		c.must(json.Unmarshal(raw, &pair))
		number, priority = pair[0], pair[1]
	} else {
		c.must(json.Unmarshal(raw, &number))
	}
	now := c.allWorkloads()
	var names []string
	for name, obj := range now {
		finished := meta.IsStatusConditionTrue(obj.Status.Conditions, kueue.WorkloadFinished)
		if !finished && (what != "finishAny" || workload.HasQuotaReservation(obj)) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	sort.Strings(names)
	obj := now[names[number%len(names)]]
	switch what {
	case "finishAny":
		return map[string]json.RawMessage{"finish": c.raw(obj.Namespace + "/" + obj.Name)}
	case "deleteAny":
		gone := map[string]string{"kind": "Workload", "namespace": obj.Namespace, "name": obj.Name}
		return map[string]json.RawMessage{"delete": c.raw(gone)}
	default:
		obj.Spec.Priority = new(int32(priority))
		return map[string]json.RawMessage{"apply": c.raw(map[string]any{
			"apiVersion": kueue.SchemeGroupVersion.String(), "kind": "Workload",
			"metadata": map[string]any{"name": obj.Name, "namespace": obj.Namespace, "uid": obj.UID,
				"creationTimestamp": obj.CreationTimestamp},
			"spec": obj.Spec,
		})}
	}
}

// ended is the event of those evictions that a step ends, nil for none.
func (c *cluster) ended(s *step) map[string]json.RawMessage {
	var draining, ended []string
	for name, obj := range c.allWorkloads() {
		if workload.HasQuotaReservation(obj) && meta.IsStatusConditionTrue(obj.Status.Conditions, kueue.WorkloadEvicted) &&
			!meta.IsStatusConditionTrue(obj.Status.Conditions, kueue.WorkloadFinished) {
			draining = append(draining, name)
		}
	}
	sort.Strings(draining)
	for i, name := range draining {
		if len(s.Ends) > 0 && s.Ends[i%len(s.Ends)] == 0 {
			ended = append(ended, name)
		}
	}
	if ended == nil {
		return nil
	}
	return map[string]json.RawMessage{"evicted": c.raw(ended)}
}

func (c *cluster) raw(value any) json.RawMessage {
	raw, err := json.Marshal(value)
	c.must(err)
	return raw
}

func (c *cluster) happen(what string, raw json.RawMessage) {
	switch what {
	case "apply":
		c.apply(objectsOf(c.t, []json.RawMessage{raw})[0])
	case "finish":
		var name string
		c.must(json.Unmarshal(raw, &name))
		obj := c.workload(name)
		if obj == nil {
			return
		}
		meta.SetStatusCondition(&obj.Status.Conditions, metav1.Condition{Type: kueue.WorkloadFinished,
			Status: metav1.ConditionTrue, Reason: kueue.WorkloadFinishedReasonSucceeded, Message: "done"})
		c.must(c.client.Status().Update(c.ctx, obj))
	case "delete":
		var gone struct{ Namespace, Name string }
		c.must(json.Unmarshal(raw, &gone))
		if obj := c.workload(gone.Namespace + "/" + gone.Name); obj != nil {
			c.must(c.client.Delete(c.ctx, obj))
		}
	case "evicted":
		var names []string
		c.must(json.Unmarshal(raw, &names))
		for _, name := range names {
			c.stopped(name)
			c.settle()
		}
	default:
		c.t.Fatal(what)
	}
}

func (c *cluster) apply(wanted client.Object) {
	old := wanted.DeepCopyObject().(client.Object)
	if c.client.Get(c.ctx, client.ObjectKeyFromObject(wanted), old) != nil {
		c.must(c.client.Create(c.ctx, wanted))
		return
	}
	switch known := old.(type) {
	case *kueue.Workload:
		known.Spec = wanted.(*kueue.Workload).Spec
	case *kueue.ClusterQueue:
		known.Spec = wanted.(*kueue.ClusterQueue).Spec
	case *kueue.Cohort:
		known.Spec = wanted.(*kueue.Cohort).Spec
	}
	c.must(c.client.Update(c.ctx, old))
}

// stopped ends an eviction, as the controller of its job does once the job has no pods left.
func (c *cluster) stopped(name string) {
	obj := c.workload(name)
	if obj == nil || !workload.HasQuotaReservation(obj) {
		return
	}
	evicted := meta.FindStatusCondition(obj.Status.Conditions, kueue.WorkloadEvicted)
	preempted := evicted.Reason == kueue.WorkloadEvictedByPreemption
	workload.SetRequeuedCondition(obj, evicted.Reason, evicted.Message, preempted)
	workload.UnsetQuotaReservationWithCondition(obj, kueue.WorkloadQuotaReservedReasonPendingEvaluation, evicted.Message,
		c.clock.Now())
	c.must(c.client.Status().Update(c.ctx, obj))
}

// settle tells Kueue's controllers of each change until nothing moves.
func (c *cluster) settle() {
	for range 100 {
		if !c.told() {
			return
		}
	}
	c.t.Fatal("the controllers never rest")
}

func (c *cluster) told() bool {
	moved := false
	var queues kueue.ClusterQueueList
	c.must(c.client.List(c.ctx, &queues))
	var cohorts kueue.CohortList
	c.must(c.client.List(c.ctx, &cohorts))
	for i := range cohorts.Items {
		obj := &cohorts.Items[i]
		old := c.seen["cohort/"+obj.Name]
		if old != nil && same(old, obj) {
			continue
		}
		moved, c.seen["cohort/"+obj.Name] = true, obj.DeepCopy()
		wanted := true
		if old != nil {
			wanted = c.cohorts.Update(event.TypedUpdateEvent[*kueue.Cohort]{ObjectOld: old.(*kueue.Cohort), ObjectNew: obj})
		}
		if wanted {
			c.reconcileCohort(obj.Name)
		}
	}
	for i := range queues.Items {
		obj := &queues.Items[i]
		old := c.seen["queue/"+obj.Name]
		if old != nil && same(old, obj) {
			continue
		}
		moved, c.seen["queue/"+obj.Name] = true, obj.DeepCopy()
		if old == nil {
			c.clusterQs.Create(event.TypedCreateEvent[*kueue.ClusterQueue]{Object: obj})
		} else {
			c.clusterQs.Update(event.TypedUpdateEvent[*kueue.ClusterQueue]{ObjectOld: old.(*kueue.ClusterQueue), ObjectNew: obj})
		}
		_, err := c.clusterQs.Reconcile(c.ctx, request("", obj.Name))
		c.must(err)
		ancestors, _ := c.cache.ClusterQueueAncestors(obj)
		for _, name := range ancestors {
			c.reconcileCohort(string(name))
		}
		if old == nil || !equality.Semantic.DeepEqual(old.(*kueue.ClusterQueue).Spec, obj.Spec) {
			for name := range c.allWorkloads() {
				c.reconcileWorkload(name)
			}
		}
	}
	changed := c.toldOfWorkloads()
	for i := range queues.Items {
		if changed[kueue.ClusterQueueReference(queues.Items[i].Name)] {
			_, err := c.clusterQs.Reconcile(c.ctx, request("", queues.Items[i].Name))
			c.must(err)
		}
	}
	return moved || len(changed) > 0
}

// toldOfWorkloads gives the queues of the workloads that changed: theirs alone are counted again.
func (c *cluster) toldOfWorkloads() map[kueue.ClusterQueueReference]bool {
	changed, now := map[kueue.ClusterQueueReference]bool{}, c.allWorkloads()
	var names []string
	for name := range now {
		names = append(names, name)
	}
	for key := range c.seen {
		if name, is := strings.CutPrefix(key, "workload/"); is && now[name] == nil {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	for _, name := range slices.Compact(names) {
		old, obj := c.seen["workload/"+name], now[name]
		switch {
		case obj == nil:
			delete(c.seen, "workload/"+name)
			c.workloads.Delete(event.TypedDeleteEvent[*kueue.Workload]{Object: old.(*kueue.Workload)})
		case old == nil:
			c.seen["workload/"+name] = obj.DeepCopy()
			c.workloads.Create(event.TypedCreateEvent[*kueue.Workload]{Object: obj})
		case !same(old, obj):
			c.seen["workload/"+name] = obj.DeepCopy()
			c.workloads.Update(event.TypedUpdateEvent[*kueue.Workload]{ObjectOld: old.(*kueue.Workload), ObjectNew: obj})
		default:
			continue
		}
		if old != nil {
			changed[c.queueOf(old.(*kueue.Workload))] = true
		}
		if obj != nil {
			changed[c.queueOf(obj)] = true
		}
		c.reconcileWorkload(name)
	}
	return changed
}

// queueOf is the ClusterQueue that a workload holds quota of or waits in, "" for none.
func (c *cluster) queueOf(obj *kueue.Workload) kueue.ClusterQueueReference {
	if workload.HasQuotaReservation(obj) {
		return obj.Status.Admission.ClusterQueue
	}
	name, _ := c.queues.ClusterQueueForWorkload(obj)
	return name
}

func (c *cluster) reconcileWorkload(name string) {
	namespace, own, _ := strings.Cut(name, "/")
	_, err := c.workloads.Reconcile(c.ctx, request(namespace, own))
	c.must(err)
}

func (c *cluster) reconcileCohort(name string) {
	if _, err := c.cohorts.Reconcile(c.ctx, request("", name)); err != nil {
		c.t.Log(err)
	}
}

func request(namespace, name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// same says whether two objects have one content: a write that changes nothing is no event.
func same(old, obj client.Object) bool {
	a, b := old.DeepCopyObject().(client.Object), obj.DeepCopyObject().(client.Object)
	for _, each := range []client.Object{a, b} {
		each.SetResourceVersion("")
		each.SetManagedFields(nil)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && equality.Semantic.DeepEqual(a, b)
}

func (c *cluster) workload(name string) *kueue.Workload {
	return c.allWorkloads()[name]
}

func (c *cluster) allWorkloads() map[string]*kueue.Workload {
	return workloadsOf(c.t, c.client)
}

func (c *cluster) answer(before map[string]*kueue.Workload) *stepAnswer {
	now := c.allWorkloads()
	found := decidedBetween(before, now, c.queues)
	answer := &stepAnswer{found.Admitted, map[string]string{}, map[string]string{}, []string{}, found.PendingDetail}
	for name := range found.PendingDetail {
		answer.Pending = append(answer.Pending, name)
	}
	sort.Strings(answer.Pending)
	for name, reason := range found.Preempted {
		if !c.evicting[name] {
			answer.Preempted[name], answer.PreemptedBy[name] = reason, found.PreemptedBy[name]
		}
	}
	for name, obj := range now {
		c.evicting[name] = workload.HasQuotaReservation(obj) &&
			meta.IsStatusConditionTrue(obj.Status.Conditions, kueue.WorkloadEvicted)
	}
	return answer
}

func (c *cluster) must(err error) {
	if err != nil {
		c.t.Helper()
		c.t.Fatal(err)
	}
}

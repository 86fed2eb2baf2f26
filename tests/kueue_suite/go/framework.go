package framework

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	config "sigs.k8s.io/kueue/apis/config/v1beta2"
	"sigs.k8s.io/kueue/pkg/controller/jobframework"
	jobcontrollers "sigs.k8s.io/kueue/pkg/controller/jobs"
	"sigs.k8s.io/kueue/pkg/features"
	"sigs.k8s.io/kueue/test/sluicehook"
	"sigs.k8s.io/kueue/test/util"
)

// One Sluice process at a time, in place of Kueue's manager.
type sluiceProcess struct {
	command *exec.Cmd
	done    chan error
	client  client.Client
	hooks   []*unstructured.Unstructured
	log     string
	state   string
	key     string // what was asked for; the same again goes on with the same process
}

var (
	sluices  = map[*Framework]*sluiceProcess{}
	sluiceNo atomic.Int32
	// What `sluice register` printed, by address and policies: suites start many processes at one address.
	registered = map[string][]byte{}
)

var gateOf = map[string]featuregate.Feature{
	"priority-class": features.WorkloadPriorityClassDefaulting,
	"stays-queued":   features.ValidateRayAndSparkJobUpdates,
}

// What Kueue's webhooks do; a suite that registers none of them runs without.
var ofWebhooks = map[string]bool{
	"valid-jobs": true, "stays-queued": true, "valid-workloads": true, "valid-quotas": true, "valid-flavors": true, "in-use": true,
}

func sluiceCRDs() string { return os.Getenv("SLUICE_CRDS") }

func note(name, value string) {
	defer func() { _ = recover() }()
	ginkgo.AddReportEntry(name, value, ginkgo.ReportEntryVisibilityNever)
}

// startSluice calls the suite's managerSetup with a manager that is never started, for the globals of the tests and
// to learn the configuration, and starts `sluice serve` on the address where the manager's webhooks would have been.
func (f *Framework) startSluice(ctx context.Context, cfg *rest.Config, setup ManagerSetup, opts ...ManagerOption) {
	sluicehook.Note = note
	options := &f.testEnv.WebhookInstallOptions
	mgrOptions := manager.Options{
		Scheme:     f.scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: new(true)},
		WebhookServer: webhook.NewServer(webhook.Options{
			Host: options.LocalServingHost, Port: options.LocalServingPort, CertDir: options.LocalServingCertDir,
		}),
	}
	for _, opt := range opts {
		opt(&mgrOptions)
	}
	mgr, err := ctrl.NewManager(cfg, mgrOptions)
	gomega.ExpectWithOffset(2, err).NotTo(gomega.HaveOccurred())
	sluicehook.Reset()
	managerCtx, cancel := context.WithCancel(ctx)
	if f.managerCancel != nil {
		f.managerCancel()
	}
	f.managerCancel = nil
	setup(managerCtx, mgr)
	defer func() { f.managerCancel = cancel }()

	sluicehook.GatesChanged = func() {
		if f.managerCancel != nil && util.SluiceState != "" {
			f.launch(ctx, cfg)
		}
	}
	f.launch(ctx, cfg)
}

// launch starts Sluice with what was asked for, unless it runs so already.
func (f *Framework) launch(ctx context.Context, cfg *rest.Config) {
	text, err := json.MarshalIndent(kueueConfig(), "", "  ")
	gomega.ExpectWithOffset(2, err).NotTo(gomega.HaveOccurred())
	key := fmt.Sprint(sluicehook.Scheduler, string(text))
	if process := sluices[f]; process != nil {
		select {
		case <-process.done:
		default:
			if process.key == key && os.Getenv("SLUICE_RESTART") == "" {
				util.SluiceState = process.state
				return
			}
		}
	}
	cancel := f.managerCancel
	f.managerCancel = nil
	f.stopSluice()
	f.managerCancel = cancel
	options := &f.testEnv.WebhookInstallOptions
	home := os.Getenv("SLUICE_WORK")
	user, err := f.testEnv.AddUser(envtest.User{Name: "sluice", Groups: []string{"system:masters"}}, nil)
	gomega.ExpectWithOffset(2, err).NotTo(gomega.HaveOccurred())
	kubeconfig, err := user.KubeConfig()
	gomega.ExpectWithOffset(2, err).NotTo(gomega.HaveOccurred())
	number := sluiceNo.Add(1)
	base := filepath.Join(home, fmt.Sprintf("sluice-%d", number))
	gomega.ExpectWithOffset(2, os.WriteFile(base+".kubeconfig", kubeconfig, 0o600)).To(gomega.Succeed())
	gomega.ExpectWithOffset(2, os.WriteFile(base+".ca", options.LocalServingCAData, 0o600)).To(gomega.Succeed())
	gomega.ExpectWithOffset(2, os.WriteFile(base+".json", text, 0o600)).To(gomega.Succeed())

	state := freePort()
	address := fmt.Sprintf("%s:%d", options.LocalServingHost, options.LocalServingPort)
	arguments := []string{
		"serve", "--listen", address, "--state-listen", state, "--cert-dir", options.LocalServingCertDir,
		"--kubeconfig", base + ".kubeconfig", "--no-leader-election", "--writes-per-second", "500",
		"--kueue-config", base + ".json", "--no-refuse-impossible",
	}
	if after := sluicehook.ForceDeleteAfter; after > 0 {
		arguments = append(arguments, "--force-delete-after", strconv.FormatFloat(after.Seconds(), 'f', -1, 64))
	}
	for _, path := range f.policies() {
		arguments = append(arguments, "--policies", path)
	}
	if !sluicehook.Scheduler {
		arguments = append(arguments, "--rules", "no-scheduler")
	}
	out, err := os.Create(base + ".log")
	gomega.ExpectWithOffset(2, err).NotTo(gomega.HaveOccurred())
	command := exec.Command(os.Getenv("SLUICE_BIN"), arguments...)
	command.Stdout, command.Stderr = out, out
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	gomega.ExpectWithOffset(2, command.Start()).To(gomega.Succeed())
	process := &sluiceProcess{command: command, done: make(chan error, 1), log: base + ".log", state: "http://" + state, key: key}
	go func() { process.done <- command.Wait(); out.Close() }()
	sluices[f] = process
	note("sluice-start", strings.Join(arguments, " "))
	note("kueue-config", string(text))

	gomega.EventuallyWithOffset(2, func(g gomega.Gomega) {
		answer, err := http.Get("http://" + state + "/readyz")
		g.Expect(err).NotTo(gomega.HaveOccurred())
		answer.Body.Close()
		g.Expect(answer.StatusCode).To(gomega.Equal(200))
		conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true})
		g.Expect(err).NotTo(gomega.HaveOccurred())
		conn.Close()
	}, 60*time.Second, 100*time.Millisecond).Should(gomega.Succeed(), "sluice is ready; its log is "+process.log)
	util.SluiceState = "http://" + state

	process.client, err = client.New(cfg, client.Options{Scheme: f.scheme})
	gomega.ExpectWithOffset(2, err).NotTo(gomega.HaveOccurred())
	if os.Getenv("SLUICE_WEBHOOKS") != "none" {
		process.register(ctx, address, base+".ca", f.policies())
	}
}

// policies are those in force: what is a feature gate in Kueue may be a policy here.
func (f *Framework) policies() []string {
	var out []string
	for _, path := range strings.Split(os.Getenv("SLUICE_POLICIES"), ":") {
		name := filepath.Base(path)
		if gate, ok := gateOf[name]; (!ok || features.Enabled(gate)) && (f.WebhookPath != "" || !ofWebhooks[name]) {
			out = append(out, path)
		}
	}
	return out
}

// register writes the webhook configurations that `sluice register` prints, for all namespaces.
func (p *sluiceProcess) register(ctx context.Context, address, ca string, policies []string) {
	arguments := []string{"register", "--print", "--url", "https://" + address, "--ca-file", ca}
	for _, path := range policies {
		arguments = append(arguments, "--policies", path)
	}
	key := address + strings.Join(arguments[6:], " ")
	text, ok := registered[key]
	if !ok {
		var err error
		text, err = exec.Command(os.Getenv("SLUICE_BIN"), arguments...).Output()
		gomega.ExpectWithOffset(3, err).NotTo(gomega.HaveOccurred(), key)
		registered[key] = text
	}
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		if err := decoder.Decode(&obj.Object); err == io.EOF {
			break
		} else if err != nil {
			ginkgo.Fail(err.Error())
		}
		if obj.Object == nil {
			continue
		}
		hooks, _, _ := unstructured.NestedSlice(obj.Object, "webhooks")
		for _, hook := range hooks {
			if selector, ok := hook.(map[string]any)["namespaceSelector"].(map[string]any); ok {
				delete(selector, "matchLabels")
			}
		}
		_ = unstructured.SetNestedSlice(obj.Object, hooks, "webhooks")
		_ = p.client.Delete(ctx, obj.DeepCopy())
		gomega.ExpectWithOffset(3, p.client.Create(ctx, obj)).To(gomega.Succeed())
		p.hooks = append(p.hooks, obj)
	}
	time.Sleep(300 * time.Millisecond)
}

// kueueConfig is the Configuration that the suite asked for, with what it gave to the parts of Kueue by themselves.
func kueueConfig() map[string]any {
	out := map[string]any{}
	if cfg, ok := sluicehook.Config.(*config.Configuration); ok && cfg != nil {
		text, err := json.Marshal(cfg)
		gomega.ExpectWithOffset(3, err).NotTo(gomega.HaveOccurred())
		gomega.ExpectWithOffset(3, json.Unmarshal(text, &out)).To(gomega.Succeed())
	}
	// Addresses, certificates and the lease are the harness's own.
	for _, key := range []string{
		"webhook", "leaderElection", "metrics", "health", "controller", "internalCertManagement", "clientConnection",
		"tls", "visibilityServer",
	} {
		delete(out, key)
	}
	out["apiVersion"], out["kind"] = config.SchemeGroupVersion.String(), "Configuration"
	if len(sluicehook.Jobs) > 0 {
		ofJobs(out)
	}
	for path, value := range sluicehook.Options {
		set(out, value, strings.Split(path, ".")...)
	}
	gates := map[string]any{}
	for name, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if enabled := utilfeature.DefaultFeatureGate.Enabled(name); enabled != spec.Default {
			gates[string(name)] = enabled
		}
	}
	if out["waitForPodsReady"] == nil { // Kueue's default is a time-out of half an hour; here nobody asked for it
		gates["DisableWaitForPodsReady"] = true
	}
	if sluicehook.ForceDeleteAfter > 0 {
		gates["FailureRecoveryPolicy"] = true
	}
	out["featureGates"] = gates
	return out
}

// ofJobs adds what the job reconcilers and webhooks were given, of all of them together, and names the kinds that have
// reconcilers; beside those a kind with a webhook only is nobody's, unless jobs without a queue are to be suspended,
// which is the reconciler's here. Where no kind has one, and none is named as enabled, all with a webhook are: they are
// to be shaped. A suite that leaves WaitForPodsReady out of them has no condition PodsReady.
func ofJobs(out map[string]any) {
	manage, ready := false, false
	frameworks, external, labels := sets.New[string](), sets.New[string](), sets.New[string]()
	for _, asked := range sluicehook.Jobs {
		jobs := asked.(jobframework.Options)
		manage = manage || jobs.ManageJobsWithoutQueueName
		ready = ready || jobs.WaitForPodsReady
		frameworks = frameworks.Union(jobs.EnabledFrameworks)
		external = external.Union(jobs.EnabledExternalFrameworks)
		labels = labels.Union(jobs.LabelKeysToCopy)
		if jobs.ManagedJobsNamespaceSelector != nil {
			out["managedJobsNamespaceSelector"] = labelSelector(jobs.ManagedJobsNamespaceSelector)
		}
		if after := jobs.WorkloadRetentionPolicy.AfterDeactivatedByKueue; after != nil {
			set(out, after.String(), "objectRetentionPolicies", "workloads", "afterDeactivatedByKueue")
		}
	}
	reconciled := slices.Contains(slices.Collect(maps.Values(sluicehook.Kinds)), true)
	shaped := manage || frameworks.Len() == 0 && !reconciled
	for _, name := range jobcontrollers.NewIntegrationManager().GetIntegrationsList() {
		if reconciler, ok := sluicehook.Kinds[name[strings.LastIndex(name, "/")+1:]]; reconciler || ok && shaped {
			frameworks.Insert(name)
		}
	}
	out["manageJobsWithoutQueueName"] = manage
	if !ready {
		delete(out, "waitForPodsReady")
	} else if out["waitForPodsReady"] == nil {
		out["waitForPodsReady"] = map[string]any{"timeout": "30m"}
	}
	out["integrations"] = map[string]any{"frameworks": sets.List(frameworks)}
	set(out, sets.List(external), "integrations", "externalFrameworks")
	set(out, sets.List(labels), "integrations", "labelKeysToCopy")
}

// labelSelector writes a selector as the API has it.
func labelSelector(selector labels.Selector) map[string]any {
	out := map[string]any{}
	var rows []any
	requirements, _ := selector.Requirements()
	for _, requirement := range requirements {
		operator := map[selection.Operator]string{
			selection.In: "In", selection.Equals: "In", selection.DoubleEquals: "In",
			selection.NotIn: "NotIn", selection.NotEquals: "NotIn",
			selection.Exists: "Exists", selection.DoesNotExist: "DoesNotExist",
		}[requirement.Operator()]
		row := map[string]any{"key": requirement.Key(), "operator": operator}
		if values := requirement.Values().List(); len(values) > 0 {
			row["values"] = values
		}
		rows = append(rows, row)
	}
	if len(rows) > 0 {
		out["matchExpressions"] = rows
	}
	return out
}

// set puts a value, as JSON has it, at a path; nothing and the empty value leave the field out.
func set(out map[string]any, value any, path ...string) {
	text, err := json.Marshal(value)
	gomega.ExpectWithOffset(4, err).NotTo(gomega.HaveOccurred())
	if string(text) == "null" || string(text) == `""` || string(text) == "[]" {
		return
	}
	for _, key := range path[:len(path)-1] {
		inner, ok := out[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			out[key] = inner
		}
		out = inner
	}
	out[path[len(path)-1]] = json.RawMessage(text)
}

// pauseSluice is the end of a manager: the process stays for the next one, unless SLUICE_RESTART is set.
func (f *Framework) pauseSluice() {
	if os.Getenv("SLUICE_RESTART") != "" {
		f.stopSluice()
	} else if f.managerCancel != nil {
		f.managerCancel()
	}
}

func (f *Framework) stopSluice() {
	process := sluices[f]
	if process == nil {
		return
	}
	delete(sluices, f)
	if f.managerCancel != nil {
		f.managerCancel()
	}
	for _, hook := range process.hooks {
		_ = process.client.Delete(context.Background(), hook)
	}
	_ = process.command.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-process.done:
		note("sluice-exit", fmt.Sprint(err))
	case <-time.After(15 * time.Second):
		_ = process.command.Process.Kill()
		note("sluice-exit", "killed after 15 s")
	}
	util.SluiceState = ""
}

func freePort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	gomega.ExpectWithOffset(3, err).NotTo(gomega.HaveOccurred())
	defer listener.Close()
	return listener.Addr().String()
}

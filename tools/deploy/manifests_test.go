package deploy

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/anchor-host/anchor-host/internal/config"
	"github.com/anchor-host/anchor-host/internal/storeurl"
	"github.com/anchor-host/anchor-host/server/keys"
)

// pages is the folder of what is tested.
const pages = "../../docs/deploy"

// unconfigured is how long a host takes, after drain_timeout, to cut what still runs (2s), to close
// plugins (10s) and to send the last traces (2s), rounded up.
const unconfigured = 15 * time.Second

// set has the manifests, each decoded strictly: an unknown field is an error.
type set struct {
	config     core.ConfigMap
	keys       core.Secret
	store      core.Secret // of a cluster, as the next ones
	database   apps.StatefulSet
	init       core.ConfigMap
	address    core.Service
	fence      networking.NetworkPolicy
	disk       core.PersistentVolumeClaim
	deployment apps.Deployment
	service    core.Service
	budget     policy.PodDisruptionBudget
	network    networking.NetworkPolicy
	monitor    monitoring.PodMonitor
}

func readSet(t *testing.T) *set {
	t.Helper()
	return readFolders(t, &set{}, "kubernetes")
}

// readFolders reads the files of folders, of which the later ones replace those of the same name.
func readFolders(t *testing.T, s *set, folders ...string) *set {
	t.Helper()
	cluster := len(folders) > 1
	files := map[string]any{
		"configmap": &s.config, "secret": &s.keys, "pvc": &s.disk, "deployment": &s.deployment, "service": &s.service,
		"poddisruptionbudget": &s.budget, "networkpolicy": &s.network, "podmonitor": &s.monitor,
	}
	if cluster {
		files["store"], files["database"], files["database-init"] = &s.store, &s.database, &s.init
		files["database-service"], files["database-networkpolicy"] = &s.address, &s.fence
		delete(files, "pvc")
	}
	paths := map[string]string{}
	for _, folder := range folders {
		entries, err := os.ReadDir(filepath.Join(pages, folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			paths[e.Name()] = filepath.Join(pages, folder, e.Name())
		}
	}
	if cluster {
		delete(paths, "pvc.yaml")
	}
	for base, path := range paths {
		name := strings.TrimSuffix(base, ".yaml")
		into, ok := files[name]
		if !ok {
			t.Errorf("%s: nothing tests this file", path)
			continue
		}
		delete(files, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, into); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		v := reflect.ValueOf(into).Elem()
		kind := v.FieldByName("TypeMeta").Interface().(meta.TypeMeta)
		if want := v.Type().Name(); kind.Kind != want {
			t.Errorf("%s: kind %s, want %s", path, kind.Kind, want)
		}
		// The last part of the package's path is the version.
		path := v.Type().PkgPath()
		if version := path[strings.LastIndexByte(path, '/')+1:]; !strings.HasSuffix("/"+kind.APIVersion, "/"+version) {
			t.Errorf("%s: apiVersion %s, want %s", path, kind.APIVersion, version)
		}
	}
	for name := range files {
		t.Errorf("%s.yaml is missing", name)
	}
	if t.Failed() {
		t.FailNow()
	}
	return s
}

// Three pods share a database, whose URL they get from a Secret, and no disk. One at a time may be away.
func TestCluster(t *testing.T) {
	s := readFolders(t, &set{}, "kubernetes", "cluster")
	checkParts(t, s)
	d, pod := &s.deployment.Spec, &s.deployment.Spec.Template.Spec
	if *d.Replicas != 3 || d.Strategy.Type != apps.RollingUpdateDeploymentStrategyType || d.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("%d replicas, %+v", *d.Replicas, d.Strategy)
	}
	if budget := s.budget.Spec.MaxUnavailable; budget == nil || budget.IntValue() != 1 {
		t.Errorf("the budget lets %v be away", budget)
	}
	for _, v := range pod.Volumes {
		if v.PersistentVolumeClaim != nil {
			t.Errorf("pods share the disk %s", v.Name)
		}
	}
	var url string
	for _, e := range pod.Containers[0].Env {
		if from := e.ValueFrom; e.Name == "ANCHOR_HOST_STORE_PATH" && from != nil && from.SecretKeyRef != nil && from.SecretKeyRef.Name == s.store.Name {
			url = s.store.StringData[from.SecretKeyRef.Key]
		}
	}
	address, _, err := storeurl.Split(url)
	if err != nil || !storeurl.Is(address) {
		t.Errorf("the store of the Secret is %q, %v", url, err)
	}
	open := slices.ContainsFunc(s.network.Spec.Egress, func(r networking.NetworkPolicyEgressRule) bool {
		return slices.ContainsFunc(r.Ports, func(p networking.NetworkPolicyPort) bool { return p.Port.IntValue() == 5432 })
	})
	if !open {
		t.Error("the pods may not reach the database")
	}
}

// The hosts reach the database by the name and the password of the Secret, as a role that is no administrator, and
// nobody else does.
func TestDatabaseOfACluster(t *testing.T) {
	s := readFolders(t, &set{}, "kubernetes", "cluster")
	own := labels.Set(s.database.Spec.Template.Labels)
	for what, selector := range map[string]*meta.LabelSelector{
		"database": s.database.Spec.Selector, "service": {MatchLabels: s.address.Spec.Selector}, "policy": &s.fence.Spec.PodSelector,
	} {
		if got, err := meta.LabelSelectorAsSelector(selector); err != nil || got.Empty() || !got.Matches(own) {
			t.Errorf("%s: its selector does not find the pod: %v, %v", what, selector, err)
		}
	}
	address, err := url.Parse(s.store.StringData["url"])
	if err != nil {
		t.Fatal(err)
	}
	if password, _ := address.User.Password(); password != s.store.StringData["password"] || address.Host != s.address.Name+":"+fmt.Sprint(s.address.Spec.Ports[0].Port) {
		t.Errorf("%s beside the password and the service %s", address, s.address.Name)
	}
	script := s.init.Data["anchor.sh"]
	if user := address.User.Username(); !strings.Contains(script, "CREATE ROLE "+user+" LOGIN PASSWORD :'password';") || !strings.Contains(script, "CREATE DATABASE anchor OWNER "+user) || strings.Contains(script, "SUPERUSER") {
		t.Errorf("the role of the URL is not made: %s", script)
	}
	pod := s.database.Spec.Template.Spec
	for _, e := range pod.Containers[0].Env {
		if from := e.ValueFrom; from != nil && (from.SecretKeyRef.Name != s.store.Name || s.store.StringData[from.SecretKeyRef.Key] == "") {
			t.Errorf("%s is not in the Secret", e.Name)
		}
	}
	if root := pod.SecurityContext.RunAsNonRoot; root == nil || !*root || len(s.database.Spec.VolumeClaimTemplates) != 1 {
		t.Error("the database runs as root, or has no disk")
	}
	if from := s.fence.Spec.Ingress[0].From; len(s.fence.Spec.Ingress) != 1 || len(from) != 1 || !labels.SelectorFromSet(from[0].PodSelector.MatchLabels).Matches(labels.Set(s.deployment.Spec.Template.Labels)) {
		t.Errorf("the policy lets in %v", from)
	}
}

// The parts name each other, and the pod fits the configuration that it gets.
func TestManifests(t *testing.T) { checkParts(t, readSet(t)) }

func checkParts(t *testing.T, s *set) {
	t.Helper()
	pod := s.deployment.Spec.Template
	own := labels.Set(pod.Labels)
	for what, selector := range map[string]*meta.LabelSelector{
		"deployment": s.deployment.Spec.Selector, "budget": s.budget.Spec.Selector, "network": &s.network.Spec.PodSelector,
		"monitor": &s.monitor.Spec.Selector, "service": {MatchLabels: s.service.Spec.Selector},
	} {
		if got, err := meta.LabelSelectorAsSelector(selector); err != nil || got.Empty() || !got.Matches(own) {
			t.Errorf("%s: its selector does not find the pod: %v, %v", what, selector, err)
		}
	}
	c := settings(t, s)
	server := c.Server.WithDefaults()
	box := pod.Spec.Containers[0]
	ports := map[string]int32{}
	for _, p := range box.Ports {
		ports[p.Name] = p.ContainerPort
	}
	for name, address := range map[string]string{"api": server.Listen, "admin": server.AdminListen} {
		host, port, err := net.SplitHostPort(address)
		if err != nil || host != "0.0.0.0" || port != fmt.Sprint(ports[name]) {
			t.Errorf("port %s is %d, and the host listens at %s", name, ports[name], address)
		}
	}
	fallback := (&config.Server{}).WithDefaults()
	if _, port, _ := net.SplitHostPort(fallback.Listen); port != fmt.Sprint(ports["api"]) {
		t.Errorf("port api is %d, the default of serve %s", ports["api"], port)
	}
	for what, p := range map[string]struct {
		probe *core.Probe
		path  string
	}{"startup": {box.StartupProbe, "/readyz"}, "readiness": {box.ReadinessProbe, "/readyz"}, "liveness": {box.LivenessProbe, "/livez"}} {
		if get := p.probe.HTTPGet; get == nil || get.Path != p.path || get.Port.String() != "api" {
			t.Errorf("%s probe: %+v, want %s of port api", what, get, p.path)
		}
	}
	noticed := time.Duration(box.ReadinessProbe.PeriodSeconds*box.ReadinessProbe.FailureThreshold) * time.Second
	if delay := time.Duration(server.DrainDelay); noticed > delay {
		t.Errorf("the pod leaves the Service after %v, and the host takes requests for %v only", noticed, delay)
	}
	grace := time.Duration(*pod.Spec.TerminationGracePeriodSeconds) * time.Second
	if want := time.Duration(server.DrainDelay) + time.Duration(server.DrainTimeout) + unconfigured; grace < want {
		t.Errorf("terminationGracePeriodSeconds: %v, and an end in order takes up to %v", grace, want)
	}
	if got := s.service.Spec.Ports; len(got) != 1 || got[0].TargetPort.String() != "api" || got[0].Port != ports["api"] {
		t.Errorf("service: %+v, want port api alone: the admin listener is not for clients", got)
	}
	if e := s.monitor.Spec.PodMetricsEndpoints; len(e) != 1 || *e[0].Port != "admin" || e[0].Path != "/metrics" || own[s.monitor.Spec.JobLabel] != "anchor-host" {
		t.Errorf("monitor: %+v, job label %s", e, s.monitor.Spec.JobLabel)
	}
	limits(t, &box)
	mounts(t, s, c)
}

// settings reads anchor.yaml as the host does.
func settings(t *testing.T, s *set) *config.Loaded {
	t.Helper()
	c, err := config.Parse("anchor.yaml", []byte(s.config.Data["anchor.yaml"]))
	if err != nil {
		t.Fatalf("configmap: %v", err)
	}
	if _, err := keys.Parse("keys.yaml", []byte(s.keys.StringData["keys.yaml"])); err != nil {
		t.Errorf("secret: %v", err)
	}
	return c
}

// limits compares the memory of the container with what the runtime of Go and the plugins take.
func limits(t *testing.T, box *core.Container) {
	t.Helper()
	limit := box.Resources.Limits.Memory().Value()
	var gc string
	for _, e := range box.Env {
		if e.Name == "GOMEMLIMIT" {
			gc = e.Value
		}
	}
	var mib int64
	if n, err := fmt.Sscanf(gc, "%dMiB", &mib); n != 1 || err != nil {
		t.Fatalf("GOMEMLIMIT %q: %v", gc, err)
	}
	// By default the plugins take 2 GiB, or half of the limit if that is less.
	plugins := min(2<<30, limit/2)
	if rest := limit - plugins; mib<<20 > rest*9/10 || mib<<20 < rest*8/10 {
		t.Errorf("GOMEMLIMIT is %s, want eight to nine tenths of the %d MiB that plugins leave", gc, rest>>20)
	}
}

// mounts checks that each file that the configuration names is mounted, and each place that the
// host writes is a volume.
func mounts(t *testing.T, s *set, c *config.Loaded) {
	t.Helper()
	pod := s.deployment.Spec.Template.Spec
	at := map[string]string{}
	for _, m := range pod.Containers[0].VolumeMounts {
		at[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		switch {
		case v.ConfigMap != nil:
			if v.ConfigMap.Name != s.config.Name || at[v.Name] != "/etc/anchor-host" {
				t.Errorf("volume %s: %s at %s", v.Name, v.ConfigMap.Name, at[v.Name])
			}
		case v.Secret != nil:
			// The host refuses a file of keys that others can read.
			if v.Secret.SecretName != s.keys.Name || filepath.Dir(c.Server.Keys) != at[v.Name] || *v.Secret.DefaultMode&0o027 != 0 {
				t.Errorf("volume %s: %+v at %s, and the keys are at %s", v.Name, v.Secret, at[v.Name], c.Server.Keys)
			}
		case v.PersistentVolumeClaim != nil:
			if v.PersistentVolumeClaim.ClaimName != s.disk.Name || at[v.Name] != "/data" {
				t.Errorf("volume %s: %+v at %s", v.Name, v.PersistentVolumeClaim, at[v.Name])
			}
		}
	}
}

// The pod may do no more than it needs. The user is that of the image.
func TestPodSecurity(t *testing.T) {
	checkSecurity(t, readSet(t))
	checkSecurity(t, readFolders(t, &set{}, "kubernetes", "cluster"))
}

func checkSecurity(t *testing.T, s *set) {
	t.Helper()
	pod := s.deployment.Spec.Template.Spec
	recipe, err := os.ReadFile(filepath.Join(pages, "Containerfile"))
	if err != nil {
		t.Fatal(err)
	}
	p, c := pod.SecurityContext, pod.Containers[0].SecurityContext
	if user := fmt.Sprintf("USER %d:%d\n", *p.RunAsUser, *p.RunAsGroup); !strings.Contains(string(recipe), user) || *p.RunAsUser == 0 {
		t.Errorf("the image does not have %q", user)
	}
	if *p.FSGroup != *p.RunAsGroup || !*p.RunAsNonRoot || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
		t.Errorf("pod: %+v", p)
	}
	if *c.AllowPrivilegeEscalation || !*c.ReadOnlyRootFilesystem || !slices.Equal(c.Capabilities.Drop, []core.Capability{"ALL"}) || *pod.AutomountServiceAccountToken {
		t.Errorf("container: %+v", c)
	}
}

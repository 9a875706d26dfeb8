package crd

import (
	"testing"

	"github.com/stretchr/testify/assert"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"":                     nil,
		"ready":                {"ready"},
		"readyReplicas":        {"ready", "replicas"},
		"lastHTTPCode":         {"last", "http", "code"},
		"HTTP":                 {"http"},
		"numberReady2":         {"number", "ready2"},
		"Ready-To_Go":          {"ready", "to", "go"},
		"größeÄndern":          {"größe", "ändern"},
		"...":                  nil,
		"InterfacesHaveErrors": {"interfaces", "have", "errors"},
	} {
		assert.Equal(t, want, words(name), name)
	}
}

func TestWhatIsAddedUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"replicas", "readyReplicas", "updatedReplicas", "ready", "available", "total", "desired", "numberReady",
		"currentNumberScheduled", "failed", "succeeded", "active", "instances", "restarts", "restartCount", "maxReplicas",
		"size", "usedBytes", "readyNodes",
	} {
		assert.True(t, sums(name, nil), name)
	}
	for _, name := range []string{
		"observedGeneration", "generation", "exitCode", "port", "nodePort", "ports", "timestamp", "lastScheduleTime",
		"durationSeconds", "revision", "version", "percent", "progress", "buildNumber", "priority", "weight", "uid",
		"term", "index", "readyPercentage", "averageLatency", "collisionCount", "cpuUtilization", "...",
	} {
		assert.False(t, sums(name, nil), name)
	}
	limit := 10.0
	bounded := &structuralschema.Structural{ValueValidation: &structuralschema.ValueValidation{Maximum: &limit}}
	assert.False(t, sums("mood", bounded))
	assert.True(t, sums("readyReplicas", bounded))
	chosen := &structuralschema.Structural{ValueValidation: &structuralschema.ValueValidation{Enum: []structuralschema.JSON{{Object: int64(1)}}}}
	assert.False(t, sums("replicas", chosen))
}

func TestPolarity(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]polarity{
		"Ready":                      goodTrue,
		"Available":                  goodTrue,
		"Succeeded":                  goodTrue,
		"example.com/DatabaseReady":  goodTrue,
		"AllReplicasHealthy":         goodTrue,
		"Synced":                     goodTrue,
		"Degraded":                   goodFalse,
		"Failed":                     goodFalse,
		"Stalled":                    goodFalse,
		"Reconciling":                goodFalse,
		"ReplicaFailure":             goodFalse,
		"MemoryPressure":             goodFalse,
		"NotReady":                   goodFalse,
		"MinimumReplicasUnavailable": goodFalse,
		"ReadyCheckFailed":           goodFalse,
		"NoErrors":                   goodTrue,
		"Progressing":                unknownPolarity,
		"LeaderLocation":             unknownPolarity,
		"":                           unknownPolarity,
	} {
		assert.Equal(t, want, polarityOf(name), name)
	}
}

// A word with two meanings would have the one that comes up first.
func TestWordsHaveOneMeaning(t *testing.T) {
	t.Parallel()
	for word := range badWords.set() {
		assert.False(t, goodWords.has(word), word)
	}
	seen := map[string]bool{}
	for _, v := range grades {
		for word := range v.set() {
			assert.False(t, seen[word], word)
			seen[word] = true
		}
	}
}

func TestGrades(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]grade{
		"Failed": gradeBad, "CrashLoopBackOff": gradeBad, "crash_loop_back_off": gradeBad, "Unknown": gradeUnknown,
		"Pending": gradeWaiting, "InProgress": gradeWaiting, "Running": gradeGood, "READY": gradeGood, "Blue": noGrade,
	} {
		assert.Equal(t, want, gradeOf(word), word)
	}
}

// Whoever updates the libraries finds out here that Kubernetes has a new group.
func TestTheGroupsOfKubernetesAreNotCustom(t *testing.T) {
	t.Parallel()
	for _, version := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		assert.False(t, isCustom(version.Group), version.Group)
	}
	assert.False(t, isCustom("apiextensions.k8s.io"))
	assert.False(t, isCustom("apiregistration.k8s.io"))
	for _, group := range []string{"demo.io", "gateway.networking.k8s.io", "snapshot.storage.k8s.io", "kueue.x-k8s.io"} {
		assert.True(t, isCustom(group), group)
	}
}

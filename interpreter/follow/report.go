package follow

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/record"
)

const (
	// component is who Events come from.
	component = "interpret"
	// The longest message that an Event shows, as the API server has it for new Events.
	maxMessage = 1024
)

// reporter tells people about problems, once for each version of an object.
type reporter struct {
	follower *Follower
	// recorder is nil if there are no Events to be made.
	recorder record.EventRecorder
	close    func()
	// told is what was said last, by object.
	told map[string]notice
	// good are the objects that have been in force in some version, by name.
	good map[string]types.UID
}

// notice is what is said about an object. Equal ones are said once.
type notice struct {
	uid        types.UID
	generation int64
	text       string
}

func (f *Follower) newReporter(ctx context.Context) *reporter {
	r := &reporter{follower: f, told: map[string]notice{}, good: map[string]types.UID{}, close: func() {}}
	if !f.events {
		return r
	}
	ctx = logr.NewContext(ctx, logr.FromSlogHandler(f.logger.Handler()))
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&sink{ctx, f.client.Resource(corev1.SchemeGroupVersion.WithResource("events"))})
	r.recorder = broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: component})
	r.close = broadcaster.Shutdown
	return r
}

// report tells what is new among the problems of the objects in force.
func (r *reporter) report(items []*item, problems []Problem) {
	byName := map[string][]Problem{}
	for _, p := range problems {
		byName[p.Name] = append(byName[p.Name], p)
	}
	told := map[string]notice{}
	good := map[string]types.UID{}
	broken := 0
	for _, it := range items {
		name := it.GetName()
		list := byName[name]
		isBroken := slices.ContainsFunc(list, func(p Problem) bool { return p.Broken })
		last, hasGood := r.good[name]
		hasGood = hasGood && last == it.GetUID() || !isBroken
		if hasGood {
			good[name] = it.GetUID()
		}
		if isBroken {
			broken++
		}
		if len(list) == 0 {
			if _, was := r.told[name]; was {
				r.follower.logger.Info("nothing is wrong any more", "resource", r.follower.resource.Resource, "name", name)
			}
			continue
		}
		text := textOf(list)
		if isBroken && hasGood {
			text += "; the last good version stays in force"
		}
		n := notice{it.GetUID(), it.GetGeneration(), text}
		told[name] = n
		if r.told[name] != n {
			r.tell(it.object, list[0].Reason, text)
		}
	}
	r.told, r.good = told, good
	r.follower.metrics.count(len(items)-broken, broken)
}

func textOf(problems []Problem) string {
	texts := make([]string, 0, len(problems))
	for _, p := range problems {
		texts = append(texts, p.Message)
	}
	return strings.Join(texts, "; ")
}

func (r *reporter) tell(o object, reason, text string) {
	r.follower.logger.Warn("a problem with an object", "resource", r.follower.resource.Resource, "name", o.GetName(), "reason", reason, "problem", text)
	if r.recorder == nil {
		return
	}
	if len(text) > maxMessage {
		const cut = "..."
		text = strings.ToValidUTF8(text[:maxMessage-len(cut)], "") + cut
	}
	r.recorder.Event(&corev1.ObjectReference{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
	}, corev1.EventTypeWarning, reason, text)
}

// sink writes Events with a dynamic client, so that the typed clients of all of Kubernetes are not needed.
type sink struct {
	ctx    context.Context
	events dynamic.NamespaceableResourceInterface
}

// Create writes a new Event.
func (s *sink) Create(e *corev1.Event) (*corev1.Event, error) {
	o, err := encodeEvent(e)
	if err != nil {
		return nil, err
	}
	return decodeEvent(s.events.Namespace(e.Namespace).Create(s.ctx, o, metav1.CreateOptions{}))
}

// Update writes an Event over another.
func (s *sink) Update(e *corev1.Event) (*corev1.Event, error) {
	o, err := encodeEvent(e)
	if err != nil {
		return nil, err
	}
	return decodeEvent(s.events.Namespace(e.Namespace).Update(s.ctx, o, metav1.UpdateOptions{}))
}

// Patch changes how often an Event has been seen.
func (s *sink) Patch(e *corev1.Event, patch []byte) (*corev1.Event, error) {
	return decodeEvent(s.events.Namespace(e.Namespace).Patch(s.ctx, e.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}))
}

func encodeEvent(e *corev1.Event) (object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(e)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	return o, nil
}

func decodeEvent(o object, err error) (*corev1.Event, error) {
	if err != nil {
		return nil, err
	}
	e := &corev1.Event{}
	return e, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, e)
}

package declarative

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubeinterpret/interpret/interpreter/v1alpha1"
)

// any kind, group or version.
const wildcard = "*"

// target is a parsed target: a kind, or a pattern of kinds, and the labels it wants.
type target struct {
	group, version, kind string
	selector             labels.Selector // nil wants none
	selectorText         string
}

// fieldError is a mistake in a field of a customization.
type fieldError struct {
	path []string
	err  error
}

func (e *fieldError) Error() string { return strings.Join(e.path, ".") + ": " + e.err.Error() }

func (e *fieldError) Unwrap() error { return e.err }

func parseTarget(t v1alpha1.CustomizationTarget) (target, error) {
	var parsed target
	fail := func(field string, err error) (target, error) {
		return target{}, &fieldError{[]string{"spec", "target", field}, err}
	}
	switch {
	case t.Kind == "":
		return fail("kind", errors.New("is required"))
	case t.APIVersion == "":
		return fail("apiVersion", errors.New("is required"))
	case t.Kind != wildcard && strings.Contains(t.Kind, wildcard):
		return fail("kind", fmt.Errorf("%q: a pattern is \"*\" alone", t.Kind))
	}
	parsed.kind = t.Kind
	var isGroup bool
	parsed.group, parsed.version, isGroup = strings.Cut(t.APIVersion, "/")
	if !isGroup {
		parsed.group, parsed.version = "", t.APIVersion
		if t.APIVersion == wildcard {
			parsed.group = wildcard
		}
	}
	suffix := parsed.group
	if suffix != wildcard {
		suffix = strings.TrimPrefix(suffix, "*.")
		if isGroup && suffix == "" || strings.Contains(suffix, wildcard) {
			return fail("apiVersion", fmt.Errorf("%q: a group is a name, \"*\" or \"*.suffix\"", t.APIVersion))
		}
	}
	if parsed.version != wildcard && (parsed.version == "" || strings.ContainsAny(parsed.version, "*/")) {
		return fail("apiVersion", fmt.Errorf("%q: want group/version, and a version is a name or \"*\"", t.APIVersion))
	}
	if t.LabelSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(t.LabelSelector)
		if err != nil {
			return fail("labelSelector", err)
		}
		if !selector.Empty() {
			parsed.selector, parsed.selectorText = selector, selector.String()
		}
	}
	return parsed, nil
}

// exact says whether the target names one kind.
func (t target) exact() bool {
	return t.kind != wildcard && t.version != wildcard && !strings.HasPrefix(t.group, wildcard)
}

func (t target) gvk() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: t.group, Version: t.version, Kind: t.kind}
}

func (t target) matches(kind schema.GroupVersionKind) bool {
	if t.kind != wildcard && t.kind != kind.Kind || t.version != wildcard && t.version != kind.Version {
		return false
	}
	if suffix, pattern := strings.CutPrefix(t.group, wildcard); pattern {
		return strings.HasSuffix(kind.Group, suffix)
	}
	return t.group == kind.Group
}

// groupRank orders groups from the most specific: a name, then suffixes by length, then any.
func (t target) groupRank() int {
	if suffix, pattern := strings.CutPrefix(t.group, wildcard); pattern {
		return 1000 - len(suffix) // A group is a DNS name, shorter than this.
	}
	return 0
}

// compare orders targets from the most specific.
func (t target) compare(o target) int {
	return cmp.Or(
		cmp.Compare(t.groupRank(), o.groupRank()),
		compareWild(t.kind, o.kind),
		compareWild(t.version, o.version),
		cmp.Compare(rank(t.selector == nil), rank(o.selector == nil)),
	)
}

func compareWild(a, b string) int { return cmp.Compare(rank(a == wildcard), rank(b == wildcard)) }

func rank(later bool) int {
	if later {
		return 1
	}
	return 0
}

// same says whether two targets are written alike.
func (t target) same(o target) bool {
	return t.group == o.group && t.version == o.version && t.kind == o.kind && t.selectorText == o.selectorText
}

package crd

import (
	"strings"
	"sync"
	"unicode"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// words takes a name in camel case apart, in lower case: lastHTTPCode2 is last, http, code2.
func words(name string) []string {
	var list []string
	runes := []rune(name)
	begin := 0
	cut := func(end int) {
		if end > begin {
			list = append(list, strings.ToLower(string(runes[begin:end])))
		}
	}
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			cut(i)
			begin = i + 1
		case i > begin && unicode.IsUpper(r) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			cut(i)
			begin = i
		}
	}
	cut(len(runes))
	return list
}

// vocabulary is a set of words. It is made when it is first asked: most runs of a command never ask.
type vocabulary struct{ set func() map[string]bool }

func setOf(text string) vocabulary {
	return vocabulary{sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, word := range strings.Fields(text) {
			set[word] = true
		}
		return set
	})}
}

func (v vocabulary) has(word string) bool { return v.set()[word] }

// tallies are words at the end of a name, or alone, that say it counts things, whatever bound its schema has.
var tallies = setOf(`replicas ready available unavailable updated current desired total active inactive pending running
	waiting succeeded failed completed terminating scheduled misscheduled healthy unhealthy expected instances members
	nodes pods workers brokers shards servers`)

// noTallies are words that say of a number that sums of it mean nothing: what tells one thing from another, points in
// time and lengths of it, shares, and levels.
var noTallies = setOf(`generation revision version code port ports id ids uid gid pid index ordinal rank term epoch seq
	sequence serial offset position height number hash crc checksum seed weight priority level mode
	timestamp time at since until date unix year month day days hour hours minute minutes second seconds sec secs millis
	milliseconds ms nanos nanoseconds duration age latency interval timeout ttl period delay uptime
	percent percentage pct progress ratio rate share factor average avg mean median max min maximum minimum limit
	threshold quantile temperature utilization load score partition collision leader`)

// sums says whether a number counts things, so that the number of all clusters is the sum. What a name does not tell,
// the schema may: a choice of values, or an upper bound, is not for something that adds up.
func sums(name string, s *structuralschema.Structural) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	last := list[len(list)-1]
	for i, word := range list {
		// A number of something is one at the beginning, numberReady, and a name at the end, buildNumber.
		if noTallies.has(word) && !(word == "number" && i+1 < len(list)) && !tallies.has(last) {
			return false
		}
	}
	if s == nil || s.ValueValidation == nil {
		return true
	}
	v := s.ValueValidation
	return len(v.Enum) == 0 && (v.Maximum == nil || tallies.has(last))
}

// polarity says which status of a condition is the good one.
type polarity int

const (
	// unknownPolarity is that of a condition whose name says nothing: neither status is known to be worse.
	unknownPolarity polarity = iota
	// goodTrue is a condition such as Ready.
	goodTrue
	// goodFalse is a condition such as Failed.
	goodFalse
)

// The API conventions recommend neither polarity and leave it to names, so names are what there is to go by.
// See https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md.
var (
	badWords = setOf(`failed failure failing fail error errors errored degraded degradation stalled unhealthy unavailable
		unready unreachable unschedulable unknown pressure exhausted exceeded missing invalid conflict conflicts conflicted
		blocked denied rejected refused expired dangling disruption disrupted evicted eviction lost stuck crashed crashloop
		crashlooping broken corrupt corrupted aborted canceled cancelled outdated overcommitted
		terminating terminated deleting deletion paused suspended reconciling updating upgrading scaling resizing
		restarting migrating draining cordoned`)
	goodWords = setOf(`ready readiness available succeeded success successful successfully complete completed healthy health
		established initialized scheduled synced synchronized sync accepted programmed resolved admitted bound attached
		created provisioned reconciled valid validated validation verified up alive active live running reachable connected
		connectivity configured installed deployed applied released issued approved joined ok normal supported upgradeable
		updated latest online enabled found registered published achieved achievable satisfied met allowed reserved
		allocated assigned authenticated authorized elected started serving passed stable fulfilled`)
	// negations turn the word after them.
	negations = setOf(`not no non in un never out`)
)

// polarityOf reads the name of a condition, or of a boolean: bad words outweigh good ones, so that ReadyFailed is bad.
func polarityOf(name string) polarity {
	// A condition may be qualified as a label is: example.com/Ready.
	name = name[strings.LastIndexByte(name, '/')+1:]
	found := unknownPolarity
	negated := false
	for _, word := range words(name) {
		p := unknownPolarity
		switch {
		case negations.has(word):
			negated = !negated
			continue
		case badWords.has(word):
			p = goodFalse
		case goodWords.has(word):
			p = goodTrue
		}
		if negated && p != unknownPolarity {
			p = goodTrue + goodFalse - p
			negated = false
		}
		if p != unknownPolarity && found != goodFalse {
			found = p
		}
	}
	return found
}

// grade orders the words in which objects tell how they are, the worst first.
type grade int

const (
	noGrade grade = iota
	gradeBad
	gradeUnknown
	gradeWaiting
	gradeGood
)

// grades are the words of each grade.
var grades = map[grade]vocabulary{
	gradeBad: setOf(`failed failure failing error errored fatal degraded unhealthy unavailable notready lost broken invalid
		crashed crashloopbackoff aborted rejected denied stalled red down offline evicted expired`),
	gradeUnknown: setOf(`unknown`),
	gradeWaiting: setOf(`pending waiting queued creating provisioning initializing initialising starting scheduling progressing
		inprogress reconciling updating upgrading scaling installing deploying configuring syncing restoring recovering
		restarting deleting terminating stopping draining yellow paused suspended new`),
	gradeGood: setOf(`running ready active available bound healthy succeeded success successful complete completed done ok
		deployed installed provisioned synced online up green normal released current`),
}

// gradeOf is the grade of a word in any spelling.
func gradeOf(word string) grade {
	word = strings.Join(words(word), "")
	for g, v := range grades {
		if v.has(word) {
			return g
		}
	}
	return noGrade
}

// tellsPhase says whether the text in a field tells how an object is.
func tellsPhase(name string) bool {
	list := words(name)
	if len(list) == 0 {
		return false
	}
	switch list[len(list)-1] {
	case "phase", "state", "status", "health":
		return true
	}
	return false
}

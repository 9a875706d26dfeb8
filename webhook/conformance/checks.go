package conformance

import (
	"fmt"
	"math"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubeinterpret/interpret/interpreter"
)

// The sections of the protocol that rules come from: a number and a word, as they are printed.
const (
	transport    = "2 transport"
	request      = "3 request"
	response     = "4 response"
	codes        = "6 status codes"
	server       = "7 server"
	registration = "10 registration"
	improvements = "11 improvements"
)

// checks are run in this order, and told in it.
//
// First come those about the way to the hook; when one of them fails, nothing else can be known. Then those that read
// the answers to the questions as Karmada asks them, from the outside in. Then those that ask in other forms, and
// compare; those that ask what has no answer; and those that look at all answers read so far, and hence come last.
//
// A rule without which Karmada's client fails is a Must. So is one about a question that Karmada does ask in the
// ordinary course of things, such as about clusters that have not reported yet. What Karmada never asks is a Should
// at most: a hook that falls over garbage still works.
var checks = []Check{
	// The way to the hook.
	{"configuration", Must, registration, "The configuration that registers the hook is valid.", checkConfiguration},
	{"reachable", Must, transport, "The hook's address takes connections, and speaks TLS.", connected("reachable")},
	{"tls-version", Must, transport, "The hook speaks TLS 1.2 or later.", connected("tls-version")},
	{"tls-old-versions", Should, transport, "The hook does not speak TLS 1.1 or 1.0.", connected("tls-old-versions")},
	{"tls-client-certificate", Must, transport, "The hook does without a client certificate: none is ever sent.", connected("tls-client-certificate")},
	{"tls-name", Must, transport, "The certificate names the host among its subject alternative names.", connected("tls-name")},
	{"tls-validity", Must, transport, "The certificate is valid now.", connected("tls-validity")},
	{"tls-expiry", Should, transport, "The certificate is renewed in time.", connected("tls-expiry")},
	{"tls-chain", Must, transport, "The certificate, with those sent along, leads to an authority of the caBundle.", connected("tls-chain")},
	{"http1", Must, transport, "The hook speaks HTTP/1.1.", connected("http1")},

	// The answers to questions as Karmada asks them.
	{"deadline", Must, transport, "Every question is answered within the timeout.", shaped("deadline", nil, "")},
	{"latency", Should, transport, "Every question is answered within half a second.", checkLatency},
	{"connection-kept", Must, transport, "Every question is answered; the connection is not closed instead.", shaped("connection-kept", nil, "")},
	{"http-status", Must, transport, "An answer has an HTTP status from 200 to 206, also if it is a failure.", shaped("http-status", whole, noneWhole)},
	{"content-type", Must, transport, "The Content-Type, if there is one, is a media type.", shaped("content-type", whole, noneWhole)},
	{"answer-size", Should, improvements, "An answer is not larger than any sensible client reads.", shaped("answer-size", whole, noneWhole)},
	{"body-present", Must, transport, "An answer has a body.", shaped("body-present", whole, noneWhole)},
	{"body-json", Must, transport, "The body is one JSON object, with nothing behind it.", shaped("body-json", whole, noneWhole)},
	{"envelope", Must, response, "apiVersion and kind of the envelope, if there, name a ResourceInterpreterContext.", shaped("envelope", whole, noneWhole)},
	{"response", Must, response, "The envelope has a response.", shaped("response", whole, noneWhole)},
	{"field-types", Must, response, "The fields have their types; whole numbers fit 32 bits.", shaped("field-types", readable, noneReadable)},
	{"answered", Must, response, "A question about a sample is answered with success.", checkAnswered},
	// What the operations promise.
	{"replicas", Must, response, "InterpretReplica gives replicas, if only 0.", promised("replicas", gave[*int32])},
	{"replicas-not-negative", Should, response, "Replicas are not negative.", promised("replicas-not-negative", func(out interpreter.Output) bool {
		return gave[*int32](out) || gave[*[]interpreter.Component](out)
	})},
	{"component-names", Should, response, "Every component has a name of its own.", promised("component-names", gave[*[]interpreter.Component])},
	{"dependencies", Must, response, "Every dependency has apiVersion, kind, and name or labelSelector.", promised("dependencies", gave[*[]interpreter.DependentObjectReference])},
	{"dependency-selector", Must, response, "The label selectors of dependencies are valid.", promised("dependency-selector", gave[*[]interpreter.DependentObjectReference])},
	{"dependencies-once", Should, improvements, "No dependency is listed twice.", promised("dependencies-once", gave[*[]interpreter.DependentObjectReference])},
	{"raw-status", Must, response, "InterpretStatus gives a rawStatus that is not null.", promised("raw-status", gave[*any])},
	{"healthy", Must, response, "InterpretHealth gives healthy.", promised("healthy", gave[*interpreter.Health])},
	{"patch-pair", Must, response, "patch and patchType are both there, or neither is.", promised("patch-pair", gave[**unstructured.Unstructured])},
	{"patch-type", Must, response, "The patchType is JSONPatch.", promised("patch-type", gave[**unstructured.Unstructured])},
	{"patch-base64", Must, response, "The patch is base64 text.", promised("patch-base64", gave[**unstructured.Unstructured])},
	{"patch-form", Must, response, "The patch is a list of operations by RFC 6902.", promised("patch-form", gave[**unstructured.Unstructured])},
	{"patch-applies", Must, response, "The patch can be applied to the object of the request.", promised("patch-applies", gave[**unstructured.Unstructured])},
	{"patch-identity", Must, response, "A patched object has the kind, namespace and name that it had.", promised("patch-identity", gave[**unstructured.Unstructured])},
	{"patch-only-status", Should, response, "AggregateStatus changes the status only.", promised("patch-only-status", limited)},

	// The same questions in other forms.
	{"timeout-query", Must, transport, "The query's timeout is accepted.", checkTimeoutQuery},
	{"header-case", Must, transport, "The names of headers may be in any letter case.", compare(withOtherCase)},
	{"content-type-charset", Should, server, "The Content-Type of a question may name a charset.", compare(withCharset)},
	{"envelope-optional", Should, request, "The envelope of a question may lack apiVersion and kind.", compare(withoutEnvelope)},
	{"unknown-fields", Should, request, "Fields of a later version are ignored.", compare(withUnknownFields)},
	{"null-fields", Should, request, "A field that is null is as good as one that is missing.", compare(withNulls)},
	{"odd-text", Must, request, "Objects may hold any text: control characters, other scripts, emoji.", compare(withOddText)},
	{"odd-names", Should, request, "A strange name is understood, or refused with a reason.", understood("", withOddName)},
	{"name-empty", Should, request, "The name may be empty.", compare(withoutName)},
	{"replicas-zero", Must, request, "ReviseReplica takes 0 for a number.", of(interpreter.ReviseReplica, withReplicas(0))},
	{"replicas-big", Should, request, "ReviseReplica takes the largest number of 32 bits, or refuses it with a reason.", understood(interpreter.ReviseReplica, withReplicas(math.MaxInt32))},
	{"observed-missing", Should, request, "Retain without the observed object is refused with a reason, or answered.", understood(interpreter.Retain, withoutObserved)},
	{"items-absent", Must, request, "AggregateStatus does without status items: an empty list is not sent.", of(interpreter.AggregateStatus, withItems(noItems))},
	{"items-partial", Must, request, "Status items may lack a status, and the rest.", of(interpreter.AggregateStatus, withItems(partialItems))},
	{"items-many", Must, request, fmt.Sprintf("AggregateStatus takes the status items of %d clusters.", manyClusters), of(interpreter.AggregateStatus, withItems(manyItems))},
	{"large-object", Should, improvements, "An object may be as large as an API server stores it, 1.5 MiB.", checkLargeObject},
	{"too-large", Should, improvements, fmt.Sprintf("A question that is too large, here %d MiB, gets HTTP status 413.", tooLarge>>20), checkTooLarge},
	{"resent", Must, transport, "A question that is sent again, with its uid, is answered again.", checkResent},
	{"idempotent", Should, request, "The same question has the same answer.", checkIdempotence},
	{"keep-alive", Should, transport, "Connections are kept for the next question.", checkKeepAlive},
	{"concurrency", Must, request, fmt.Sprintf("%d questions at the same time get their own answers.", parallel), checkConcurrency},

	// Questions that have no answer.
	{"unknown-operation", Should, codes, "An operation that does not exist is refused.", refuses("unknown-operation")},
	{"unregistered-operation", Should, codes, "An operation that the hook is not registered for is refused, or answered in full.", checkUnregistered},
	{"unknown-kind", Should, codes, "A kind that does not exist is refused, or answered in full.", checkUnknownKind},
	{"object-missing", Should, codes, "A question without an object is refused.", refuses("object-missing")},
	{"request-missing", Should, codes, "An envelope without a request is refused.", refuses("request-missing")},
	{"garbage-body", Should, codes, "A body that is no JSON is refused.", refuses("garbage-body")},
	{"truncated-body", Should, codes, "A body that is cut off is refused.", refuses("truncated-body")},
	{"empty-body", Should, codes, "An empty body is refused.", refuses("empty-body")},
	{"wrong-content-type", Should, server, "A question that does not say that it is JSON is refused.", refuses("wrong-content-type")},
	{"get", Should, codes, "A GET without a body is refused.", refuses("get")},
	{"survives", Must, transport, "After all of this, questions are answered as before.", checkSurvives},

	// All answers that have been read.
	{"uid-success", Must, response, "A success carries the uid of its request.", checkHeard(nil, success,
		"no question was answered with success", (*answer).uidIsRight, wantUID, gotUID)},
	{"uid-failure", Must, response, "A failure carries the uid of its request.", checkHeard(nil, later,
		noFailure, (*answer).uidIsRight, wantUID, gotUID)},
	{"uid-early", Should, improvements, "So does a failure to read the request, if its uid can be read.", checkHeard([]string{"truncated-body", "wrong-content-type"}, identified,
		noFailure, (*answer).uidIsRight, wantUID, gotUID)},
	{"failure-status", Must, response, "A failure has a status.", checkHeard([]string{"unknown-operation", "garbage-body"}, failure,
		noFailure, statusIsThere, constant("a status with a code and a message"), (*answer).summary)},
	{"failure-code", Should, codes, "The code of a failure is from 400.", checkHeard([]string{"unknown-operation", "garbage-body"}, explained,
		noFailure, func(a *answer) bool { return a.response.Status.Code >= http.StatusBadRequest }, constant("a code from 400"), (*answer).summary)},
	{"failure-message", Should, codes, "A failure says why.", checkHeard([]string{"unknown-operation", "garbage-body"}, explained,
		noFailure, func(a *answer) bool { return a.response.Status.Message != "" }, constant("a message"), (*answer).summary)},
}

package builtin

import "github.com/kubeinterpret/interpret/interpreter"

var secretExamples = []example{
	{name: "the member's token", op: interpreter.Retain,
		object:   "{type: kubernetes.io/service-account-token, data: {mine: eA==}}",
		observed: "{metadata: {annotations: {kubernetes.io/service-account.uid: u, other: o}}, data: {token: YQ==}}",
		want:     "{type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.uid: u}}, data: {token: YQ==}}"},
	{name: "no token yet", op: interpreter.Retain,
		object:   "{type: kubernetes.io/service-account-token, data: {mine: eA==}}",
		observed: "{data: null}",
		want:     "{type: kubernetes.io/service-account-token, data: {mine: eA==}}"},
	{name: "other secrets are the template's", op: interpreter.Retain,
		object:   "{type: Opaque, data: {mine: eA==}}",
		observed: "{data: {token: YQ==}}",
		want:     "{type: Opaque, data: {mine: eA==}}"},
	{name: "a type of a wrong type", op: interpreter.Retain, object: "{type: 1}", wantErr: "type must be text, got 1"},
	{name: "data of a wrong type", op: interpreter.Retain, object: "{type: kubernetes.io/service-account-token}", observed: "{data: x}", wantErr: "data must be an object"},
	{name: "a datum of a wrong type", op: interpreter.Retain, object: "{type: kubernetes.io/service-account-token}", observed: "{data: {token: 5}}", wantErr: "data.token must be text, got 5"},
	{name: "an annotation of a wrong type", op: interpreter.Retain, object: "{type: kubernetes.io/service-account-token}",
		observed: "{metadata: {annotations: {kubernetes.io/service-account.uid: 1}}}", wantErr: "must be text, got 1"},
	{name: "the control plane's token goes", op: interpreter.Prune,
		object: "{type: kubernetes.io/service-account-token, metadata: {annotations: {kubernetes.io/service-account.uid: u, other: o}}, data: {token: YQ==}}",
		want:   "{type: kubernetes.io/service-account-token, metadata: {annotations: {other: o}}}"},
	{name: "other secrets stay", op: interpreter.Prune,
		object: "{type: Opaque, metadata: {annotations: {kubernetes.io/service-account.uid: u}}, data: {token: YQ==}}",
		want:   "{type: Opaque, metadata: {annotations: {kubernetes.io/service-account.uid: u}}, data: {token: YQ==}}"},
	{name: "a type of a wrong type", op: interpreter.Prune, object: "{type: []}", wantErr: "type must be text, got a list"},
}

var serviceAccountExamples = []example{
	{name: "the member's secrets are added", op: interpreter.Retain,
		object:   "{secrets: [{name: b}, {name: b}], automountServiceAccountToken: false}",
		observed: "{secrets: [{name: a}, {name: b, extra: 1}, {name: a}], imagePullSecrets: [{name: p}], automountServiceAccountToken: true}",
		want:     "{secrets: [{name: b}, {name: b}, {name: a}], imagePullSecrets: [{name: p}], automountServiceAccountToken: false}"},
	{name: "nothing to add", op: interpreter.Retain, object: "{secrets: []}", observed: "{secrets: [], imagePullSecrets: null}", want: "{secrets: []}"},
	{name: "a list of a wrong type", op: interpreter.Retain, object: "{secrets: {name: x}}", wantErr: "secrets must be a list, got an object"},
	{name: "an observed list of a wrong type", op: interpreter.Retain, observed: "{imagePullSecrets: 1}", wantErr: "imagePullSecrets must be a list, got 1"},
	{name: "an entry of a wrong type", op: interpreter.Retain, object: "{secrets: [x]}", wantErr: `secrets must hold objects, got the text "x" at 0`},
	{name: "an entry without a name", op: interpreter.Retain, observed: "{secrets: [{name: a}, {namespace: x}]}", wantErr: "secrets[1].name is required"},
	{name: "a name of a wrong type", op: interpreter.Retain, observed: "{secrets: [{name: 1}]}", wantErr: "secrets[0].name must be text"},
	{name: "all token secrets go", op: interpreter.Prune,
		object: "{metadata: {name: robot}, secrets: [{name: robot-token-a}, {name: robot-token-b}, {namespace: n}, null, {name: mine}], imagePullSecrets: [{name: robot-token-c}]}",
		want:   "{metadata: {name: robot}, secrets: [{namespace: n}, null, {name: mine}], imagePullSecrets: [{name: robot-token-c}]}"},
	{name: "only token secrets", op: interpreter.Prune, object: "{secrets: [{name: x-token-a}]}", want: "{secrets: []}"},
	{name: "no secrets", op: interpreter.Prune, object: "{secrets: null}", want: "{secrets: null}"},
	{name: "a list of a wrong type", op: interpreter.Prune, object: "{secrets: x}", wantErr: "secrets must be a list"},
	{name: "a name of a wrong type", op: interpreter.Prune, object: "{secrets: [{name: 1}]}", wantErr: "secrets[0].name must be text"},
	{name: "its secrets but the tokens", op: interpreter.InterpretDependency,
		object: "{secrets: [{name: x-token-a}, {name: b}, {}], imagePullSecrets: [{name: p}, {name: b}]}",
		want: `
v1 Secret ns1/b
v1 Secret ns1/p`},
	{name: "none", op: interpreter.InterpretDependency, want: ""},
	{name: "a name of a wrong type", op: interpreter.InterpretDependency, object: "{imagePullSecrets: [{name: 1}]}", wantErr: "imagePullSecrets[0].name must be text"},
}

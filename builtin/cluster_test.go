package builtin

import (
	"encoding/base64"

	"github.com/kubeinterpret/interpret/interpreter"
)

var namespaceExamples = []example{
	{name: "the member's labels", op: interpreter.Retain,
		object:   "metadata: {labels: {a: mine}}",
		observed: "metadata: {labels: {a: theirs, istio-injection: enabled}, annotations: {x: y}}",
		want:     "metadata: {labels: {a: mine, istio-injection: enabled}}"},
	{name: "labels on one side only", op: interpreter.Retain, observed: "metadata: {labels: {a: b}}", want: "metadata: {labels: {a: b}}"},
	{name: "labels that the template gave up", op: interpreter.Retain,
		object:   "metadata: {labels: {k1: v}}",
		observed: "metadata: {annotations: {resourcetemplate.karmada.io/managed-labels: 'k1,k2'}, labels: {k1: v, k2: v, k3: v}}",
		want:     "metadata: {labels: {k1: v, k3: v}}"},
	{name: "no labels", op: interpreter.Retain, object: "metadata: {labels: null}", observed: "metadata: {labels: null}", want: "metadata: {labels: null}"},
	{name: "desired labels of a wrong type", op: interpreter.Retain, object: "metadata: {labels: []}", wantErr: "metadata.labels must be an object"},
	{name: "labels of a wrong type", op: interpreter.Retain, observed: "metadata: {labels: []}", wantErr: "metadata.labels must be an object"},
	{name: "a label of a wrong type", op: interpreter.Retain, observed: "metadata: {labels: {a: 1}}", wantErr: "metadata.labels.a must be text, got 1"},
	{name: "a record of a wrong type", op: interpreter.Retain, observed: "metadata: {annotations: x}", wantErr: "metadata.annotations must be an object"},

	{name: "active", op: interpreter.InterpretHealth, object: "status: {phase: Active}", want: "Healthy Active"},
	{name: "terminating", op: interpreter.InterpretHealth, object: "status: {phase: Terminating, conditions: [{type: NamespaceDeletionContentFailure, status: 'False'}]}", want: "Progressing Terminating"},
	{name: "stuck", op: interpreter.InterpretHealth, object: "status: {phase: Terminating, conditions: [{type: NamespaceDeletionDiscoveryFailure, status: 'True', reason: DiscoveryFailed, message: m}]}", want: "Degraded DiscoveryFailed"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotActive"},
	{name: "a phase of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: 1}", wantErr: "status.phase must be text"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {phase: Terminating, conditions: 1}", wantErr: "status.conditions must be a list"},
}

// pemBundle is a CA bundle in PEM. Nobody but the API server looks into the certificate.
var pemBundle = base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))

var customResourceDefinitionExamples = []example{
	{name: "the member's CA", op: interpreter.Retain,
		object:   "spec: {conversion: {webhook: {clientConfig: {service: {name: s}}}}}",
		observed: "spec: {conversion: {webhook: {clientConfig: {caBundle: Q0E=}}}}",
		want:     "spec: {conversion: {webhook: {clientConfig: {service: {name: s}, caBundle: Q0E=}}}}"},
	{name: "no webhook", op: interpreter.Retain, object: "spec: {}", observed: "spec: {conversion: {webhook: {clientConfig: {caBundle: Q0E=}}}}", want: "spec: {}"},
	{name: "the template's CA", op: interpreter.Retain,
		object:   "spec: {conversion: {webhook: {clientConfig: {caBundle: " + pemBundle + "}}}}",
		observed: "spec: {conversion: {webhook: {clientConfig: {caBundle: Q0E=}}}}",
		want:     "spec: {conversion: {webhook: {clientConfig: {caBundle: " + pemBundle + "}}}}"},
	{name: "a placeholder", op: interpreter.Retain,
		object:   "spec: {conversion: {webhook: {clientConfig: {caBundle: Cg==}}}}",
		observed: "spec: {conversion: {webhook: {clientConfig: {caBundle: Q0E=}}}}",
		want:     "spec: {conversion: {webhook: {clientConfig: {caBundle: Q0E=}}}}"},
	{name: "the member's webhook of a wrong type", op: interpreter.Retain, object: "spec: {conversion: {webhook: {clientConfig: {}}}}", observed: "spec: {conversion: {webhook: {clientConfig: {caBundle: 1}}}}",
		wantErr: "caBundle must be text, got 1"},
	{name: "a webhook of a wrong type", op: interpreter.Retain, object: "spec: {conversion: {webhook: x}}", wantErr: "spec.conversion.webhook must be an object"},

	{name: "served", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Established, status: 'True'}, {type: NamesAccepted, status: 'True'}]}", want: "Healthy Established"},
	{name: "names taken", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: NamesAccepted, status: 'False', reason: PluralConflict, message: m}]}", want: "Degraded PluralConflict"},
	{name: "being deleted", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Established, status: 'True'}, {type: Terminating, status: 'True', message: m}]}", want: "Progressing Terminating"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotEstablished"},
	{name: "conditions of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: 1}", wantErr: "status.conditions must be a list"},
	{name: "names of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: NamesAccepted, reason: 1}]}", wantErr: "status.conditions[0].reason must be text"},
	{name: "establishment of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Established, message: 1}]}", wantErr: "status.conditions[0].message must be text"},
}

var apiServiceExamples = []example{
	{name: "the member's CA", op: interpreter.Retain, object: "spec: {service: {name: s}}", observed: "spec: {caBundle: Q0E=}", want: "spec: {service: {name: s}, caBundle: Q0E=" + "}"},
	{name: "a placeholder", op: interpreter.Retain, object: "spec: {service: {name: s}, caBundle: Cg==}", observed: "spec: {caBundle: Q0E=}", want: "spec: {service: {name: s}, caBundle: Q0E=}"},
	{name: "no TLS to verify", op: interpreter.Retain, object: "spec: {service: {name: s}, insecureSkipTLSVerify: true}", observed: "spec: {caBundle: Q0E=}", want: "spec: {service: {name: s}, insecureSkipTLSVerify: true}"},
	{name: "local", op: interpreter.Retain, object: "spec: {}", observed: "spec: {caBundle: Q0E=}", want: "spec: {}"},
	{name: "a switch of a wrong type", op: interpreter.Retain, object: "spec: {insecureSkipTLSVerify: 1}", wantErr: "spec.insecureSkipTLSVerify must be true or false, got 1"},
	{name: "a service of a wrong type", op: interpreter.Retain, object: "spec: {service: 1}", wantErr: "spec.service must be an object"},

	{name: "available", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Available, status: 'True', reason: Passed, message: m}]}", want: "Healthy Passed"},
	{name: "not available", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Available, status: 'False', reason: MissingEndpoints, message: m}]}", want: "Degraded MissingEndpoints"},
	{name: "no status", op: interpreter.InterpretHealth, want: "Progressing NotChecked"},
	{name: "a message of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: Available, message: 1}]}", wantErr: "status.conditions[0].message must be text"},
	{name: "a condition type of a wrong type", op: interpreter.InterpretHealth, object: "status: {conditions: [{type: 1}]}", wantErr: "status.conditions[0].type must be text"},
}

var webhookExamples = []example{
	{name: "the member's CAs, by name", op: interpreter.Retain,
		object:   "webhooks: [{name: b, clientConfig: {service: {name: s}}}, {name: a, clientConfig: {caBundle: " + pemBundle + "}}, {name: new}]",
		observed: "webhooks: [{name: a, clientConfig: {caBundle: QQ==}}, {name: b, clientConfig: {caBundle: Qg==}}, {name: old}]",
		want:     "webhooks: [{name: b, clientConfig: {service: {name: s}, caBundle: Qg==}}, {name: a, clientConfig: {caBundle: " + pemBundle + "}}, {name: new}]"},
	{name: "a webhook without configuration", op: interpreter.Retain,
		object: "webhooks: [{name: a}]", observed: "webhooks: [{name: a, clientConfig: {caBundle: QQ==}}]",
		want: "webhooks: [{name: a, clientConfig: {caBundle: QQ==}}]"},
	{name: "placeholders", op: interpreter.Retain,
		object:   "webhooks: [{name: a, clientConfig: {caBundle: Cg==}}, {name: b, clientConfig: {caBundle: Zm9v}}, {name: c, clientConfig: {caBundle: '?'}}, {name: d, clientConfig: {caBundle: Cg==}}]",
		observed: "webhooks: [{name: a, clientConfig: {caBundle: QQ==}}, {name: b, clientConfig: {caBundle: Qg==}}, {name: c, clientConfig: {caBundle: Qg==}}, {name: d}]",
		want:     "webhooks: [{name: a, clientConfig: {caBundle: QQ==}}, {name: b, clientConfig: {caBundle: Qg==}}, {name: c, clientConfig: {caBundle: '?'}}, {name: d, clientConfig: {caBundle: Cg==}}]"},
	{name: "a null among the webhooks", op: interpreter.Retain, object: "webhooks: [null]", observed: "webhooks: [{clientConfig: {caBundle: QQ==}}]", want: "webhooks: [null]"},
	{name: "observed webhooks of a wrong type", op: interpreter.Retain, observed: "webhooks: x", wantErr: "webhooks must be a list"},
	{name: "an observed name of a wrong type", op: interpreter.Retain, observed: "webhooks: [{name: 1}]", wantErr: "webhooks[0].name must be text"},
	{name: "an observed CA of a wrong type", op: interpreter.Retain, observed: "webhooks: [{clientConfig: {caBundle: 1}}]", wantErr: "webhooks[0].clientConfig.caBundle must be text"},
	{name: "a name of a wrong type", op: interpreter.Retain, object: "webhooks: [{name: 1}]", wantErr: "webhooks[0].name must be text"},
	{name: "a CA of a wrong type", op: interpreter.Retain, object: "webhooks: [{clientConfig: {caBundle: 1}}]", wantErr: "webhooks[0].clientConfig.caBundle must be text"},
}

var roleBindingExamples = []example{
	{name: "role and accounts", op: interpreter.InterpretDependency, object: `
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects:
- {kind: ServiceAccount, name: robot}
- {kind: ServiceAccount, name: robot, namespace: ns2}
- {kind: ServiceAccount, name: default}
- {kind: ServiceAccount}
- {kind: User, name: jane}`, want: `
rbac.authorization.k8s.io/v1 Role ns1/reader
v1 ServiceAccount ns1/robot
v1 ServiceAccount ns2/robot`},
	{name: "a cluster role", op: interpreter.InterpretDependency, object: "roleRef: {kind: ClusterRole, name: auditor}", want: "rbac.authorization.k8s.io/v1 ClusterRole /auditor"},
	{name: "a cluster role that every cluster has for people", op: interpreter.InterpretDependency, object: "roleRef: {kind: ClusterRole, name: view}", want: ""},
	{name: "a role of that name", op: interpreter.InterpretDependency, object: "roleRef: {kind: Role, name: view}", want: "rbac.authorization.k8s.io/v1 Role ns1/view"},
	{name: "a role that every cluster has", op: interpreter.InterpretDependency, object: "roleRef: {kind: ClusterRole, name: 'system:auth-delegator'}", want: ""},
	{name: "nothing", op: interpreter.InterpretDependency, want: ""},
	{name: "a role of a wrong type", op: interpreter.InterpretDependency, object: "roleRef: x", wantErr: "roleRef must be an object"},
	{name: "a role name of a wrong type", op: interpreter.InterpretDependency, object: "roleRef: {name: 1}", wantErr: "roleRef.name must be text"},
	{name: "subjects of a wrong type", op: interpreter.InterpretDependency, object: "subjects: [x]", wantErr: "subjects must hold objects"},
	{name: "a subject kind of a wrong type", op: interpreter.InterpretDependency, object: "subjects: [{kind: 1}]", wantErr: "subjects[0].kind must be text"},
	{name: "a subject name of a wrong type", op: interpreter.InterpretDependency, object: "subjects: [{kind: ServiceAccount, name: 1}]", wantErr: "subjects[0].name must be text"},
	{name: "a subject namespace of a wrong type", op: interpreter.InterpretDependency, object: "subjects: [{kind: ServiceAccount, name: a, namespace: 1}]", wantErr: "subjects[0].namespace must be text"},
}

var clusterRoleBindingExamples = []example{
	{name: "role and accounts", op: interpreter.InterpretDependency, object: `
roleRef: {kind: ClusterRole, name: auditor}
subjects: [{kind: ServiceAccount, name: robot, namespace: ns2}]`, want: `
rbac.authorization.k8s.io/v1 ClusterRole /auditor
v1 ServiceAccount ns2/robot`},
	{name: "a role that every cluster has", op: interpreter.InterpretDependency,
		object: "{roleRef: {kind: ClusterRole, name: cluster-admin}, subjects: [{kind: ServiceAccount, name: robot, namespace: ns2}]}", want: "v1 ServiceAccount ns2/robot"},
	{name: "an account of no namespace", op: interpreter.InterpretDependency, object: "subjects: [{kind: ServiceAccount, name: robot}]", wantErr: "subjects[0].namespace is required of a service account"},
}

var routeExamples = []example{
	{name: "backends and mirrors", op: interpreter.InterpretDependency, object: `
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs:
    - {name: web, port: 80}
    - {name: web, port: 81}
    - {name: api, namespace: ns2, filters: [{type: RequestMirror, requestMirror: {backendRef: {name: shadow}}}]}
    - {group: multicluster.x-k8s.io, kind: ServiceImport, name: remote}
    - {group: example.com, kind: Bucket, name: b}
    - {group: example.com, kind: Service, name: b}
    filters: [{requestMirror: {backendRef: {group: '', kind: Service, name: copy}}}, {type: RequestRedirect}, {type: ExternalAuth, externalAuth: {protocol: GRPC, backendRef: {name: guard, namespace: auth}}}]
  - {}`, want: `
multicluster.x-k8s.io/v1alpha1 ServiceImport ns1/remote
v1 Service auth/guard
v1 Service ns1/copy
v1 Service ns1/shadow
v1 Service ns1/web
v1 Service ns2/api`},
	{name: "none", op: interpreter.InterpretDependency, want: ""},
	{name: "rules of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: {}}", wantErr: "spec.rules must be a list"},
	{name: "a group of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{backendRefs: [{group: 1}]}]}", wantErr: "spec.rules[0].backendRefs[0].group must be text"},
	{name: "a kind of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{backendRefs: [{kind: 1}]}]}", wantErr: "spec.rules[0].backendRefs[0].kind must be text"},
	{name: "a name of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{backendRefs: [{name: 1}]}]}", wantErr: "spec.rules[0].backendRefs[0].name must be text"},
	{name: "a namespace of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{backendRefs: [{namespace: 1}]}]}", wantErr: "spec.rules[0].backendRefs[0].namespace must be text"},
	{name: "a mirror of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{filters: [{requestMirror: x}]}]}", wantErr: "spec.rules[0].filters[0].requestMirror must be an object"},
	{name: "a mirror's name of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{filters: [{requestMirror: {backendRef: {name: 1}}}]}]}",
		wantErr: "spec.rules[0].filters[0].requestMirror.backendRef.name must be text"},
	{name: "a server's name of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{backendRefs: [{filters: [{externalAuth: {backendRef: {name: 1}}}]}]}]}",
		wantErr: "spec.rules[0].backendRefs[0].filters[0].externalAuth.backendRef.name must be text"},
}

var gatewayExamples = []example{
	{name: "certificates", op: interpreter.InterpretDependency, object: `
spec:
  listeners:
  - {name: plain, port: 80}
  - tls:
      certificateRefs: [{name: cert}, {name: cert, namespace: certs}, {group: example.com, kind: Vault, name: v}]
      frontendValidation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: old-clients}]}
  tls:
    backend: {clientCertificateRef: {name: me}}
    frontend:
      default: {validation: {caCertificateRefs: [{group: '', kind: ConfigMap, name: clients}]}}
      perPort: [{port: 8443, tls: {validation: {caCertificateRefs: [{group: '', kind: Secret, name: partners}]}}}]`, want: `
v1 ConfigMap ns1/clients
v1 ConfigMap ns1/old-clients
v1 Secret certs/cert
v1 Secret ns1/cert
v1 Secret ns1/me
v1 Secret ns1/partners`},
	{name: "none", op: interpreter.InterpretDependency, want: ""},
	{name: "listeners of a wrong type", op: interpreter.InterpretDependency, object: "spec: {listeners: x}", wantErr: "spec.listeners must be a list"},
	{name: "a certificate of a wrong type", op: interpreter.InterpretDependency, object: "spec: {listeners: [{tls: {certificateRefs: [{name: 1}]}}]}", wantErr: "spec.listeners[0].tls.certificateRefs[0].name must be text"},
	{name: "tls of a wrong type", op: interpreter.InterpretDependency, object: "spec: {tls: x}", wantErr: "spec.tls must be an object"},
	{name: "a client certificate of a wrong type", op: interpreter.InterpretDependency, object: "spec: {tls: {backend: {clientCertificateRef: {name: 1}}}}", wantErr: "spec.tls.backend.clientCertificateRef.name must be text"},
	{name: "authorities of a wrong type", op: interpreter.InterpretDependency, object: "spec: {tls: {frontend: {default: {validation: {caCertificateRefs: 1}}}}}", wantErr: "caCertificateRefs must be a list"},
}

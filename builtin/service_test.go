package builtin

import "github.com/kubeinterpret/interpret/interpreter"

var serviceExamples = []example{
	{name: "addresses of the member", op: interpreter.Retain,
		object:   "spec: {ports: [{port: 80}], future: 1}",
		observed: "spec: {clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack, ports: [{port: 80}]}",
		want:     "spec: {ports: [{port: 80}], future: 1, clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9], ipFamilies: [IPv4], ipFamilyPolicy: SingleStack}"},
	{name: "headless stays headless", op: interpreter.Retain,
		object:   "spec: {clusterIP: None}",
		observed: "spec: {clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9], ipFamilies: [IPv4]}",
		want:     "spec: {clusterIP: None}"},
	{name: "headless in the member", op: interpreter.Retain,
		object:   "spec: {clusterIP: '', selector: {}}",
		observed: "spec: {clusterIP: None, clusterIPs: [None]}",
		want:     "spec: {clusterIP: None, clusterIPs: [None], selector: {}}"},
	{name: "an address of the template's choice", op: interpreter.Retain,
		object:   "spec: {clusterIP: 10.0.0.1}",
		observed: "spec: {clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9], ipFamilies: [IPv4]}",
		want:     "spec: {clusterIP: 10.0.0.1}"},
	{name: "nothing for external names", op: interpreter.Retain,
		object:   "spec: {type: ExternalName, externalName: a}",
		observed: "spec: {clusterIP: 10.0.0.9, ports: [{port: 80, nodePort: 30080}]}",
		want:     "spec: {type: ExternalName, externalName: a}"},
	{name: "only the address without a spec", op: interpreter.Retain,
		observed: "spec: {clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9]}",
		want:     "spec: {clusterIP: 10.0.0.9}"},
	{name: "null is missing", op: interpreter.Retain,
		object:   "spec: {type: NodePort, clusterIP: null, ports: [{port: 80, nodePort: null, name: null}]}",
		observed: "spec: {clusterIP: 10.0.0.9, clusterIPs: null, ports: [{port: 80.0, nodePort: 30080.0}]}",
		want:     "spec: {type: NodePort, clusterIP: 10.0.0.9, ports: [{port: 80, nodePort: 30080, name: null}]}"},
	{name: "the health check's port", op: interpreter.Retain,
		object:   "spec: {type: LoadBalancer, externalTrafficPolicy: Local}",
		observed: "spec: {healthCheckNodePort: 31000}",
		want:     "spec: {type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 31000}"},
	{name: "the template's port for health checks", op: interpreter.Retain,
		object:   "spec: {type: LoadBalancer, healthCheckNodePort: 31001}",
		observed: "spec: {healthCheckNodePort: 31000}",
		want:     "spec: {type: LoadBalancer, healthCheckNodePort: 31001}"},
	{name: "node ports by name, else by protocol and number", op: interpreter.Retain,
		object: "spec: {type: NodePort, ports: [{name: b, port: 82}, {name: a, port: 81}, {name: new, port: 53, protocol: UDP}, {port: 99}]}",
		observed: "spec: {ports: [{name: a, port: 80, nodePort: 30001}, {name: b, port: 81, nodePort: 30002}, " +
			"{name: old, port: 53, protocol: UDP, nodePort: 30003}, {port: 53, nodePort: 30004}]}",
		want: "spec: {type: NodePort, ports: [{name: b, port: 82, nodePort: 30002}, {name: a, port: 81, nodePort: 30001}, " +
			"{name: new, port: 53, protocol: UDP, nodePort: 30003}, {port: 99}]}"},
	{name: "no node port twice", op: interpreter.Retain,
		object:   "spec: {type: LoadBalancer, ports: [{name: a, port: 80}, {name: b, port: 81}, {name: c, port: 83, nodePort: 30005}]}",
		observed: "spec: {ports: [{name: a, port: 81, nodePort: 30001}, {name: b, port: 82, nodePort: 30005}]}",
		want:     "spec: {type: LoadBalancer, ports: [{name: a, port: 80, nodePort: 30001}, {name: b, port: 81}, {name: c, port: 83, nodePort: 30005}]}"},
	{name: "node ports given up", op: interpreter.Retain,
		object:   "spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}",
		observed: "spec: {ports: [{port: 80, nodePort: 30001}]}",
		want:     "spec: {type: LoadBalancer, allocateLoadBalancerNodePorts: false, ports: [{port: 80}]}"},
	{name: "no node ports inside the cluster", op: interpreter.Retain,
		object:   "spec: {type: ClusterIP, ports: [{port: 80}]}",
		observed: "spec: {ports: [{port: 80, nodePort: 30001}]}",
		want:     "spec: {type: ClusterIP, ports: [{port: 80}]}"},
	{name: "a health check port of a wrong type", op: interpreter.Retain, observed: "spec: {healthCheckNodePort: '1'}",
		wantErr: `spec.healthCheckNodePort must be a whole number, got the text "1"`},
	{name: "an address of a wrong type", op: interpreter.Retain, observed: "spec: {clusterIP: 5}", wantErr: "spec.clusterIP must be text, got 5"},
	{name: "a desired address of a wrong type", op: interpreter.Retain, object: "spec: {clusterIP: 5}", wantErr: "spec.clusterIP must be text, got 5"},
	{name: "addresses of a wrong type", op: interpreter.Retain, object: "spec: {a: b}", observed: "spec: {clusterIP: a, clusterIPs: b}", wantErr: "spec.clusterIPs must be a list"},
	{name: "a desired spec of a wrong type", op: interpreter.Retain, object: "spec: x", wantErr: "spec must be an object"},
	{name: "a type of a wrong type", op: interpreter.Retain, object: "spec: {type: 1}", wantErr: "type must be text"},
	{name: "desired ports of a wrong type", op: interpreter.Retain, object: "spec: {type: NodePort, ports: [x]}", wantErr: `spec.ports must hold objects, got the text "x" at 0`},
	{name: "a port name of a wrong type", op: interpreter.Retain, object: "spec: {type: NodePort}", observed: "spec: {ports: [{name: 1}]}", wantErr: "spec.ports[0].name must be text"},
	{name: "a protocol of a wrong type", op: interpreter.Retain, object: "spec: {type: NodePort, ports: [{protocol: 1}]}", wantErr: "spec.ports[0].protocol must be text"},
	{name: "a port out of range", op: interpreter.Retain, object: "spec: {type: NodePort, ports: [{port: 4294967376}]}", wantErr: "spec.ports[0].port must fit in 32 bits, got 4294967376"},

	{name: "addresses of all members, merged and in order", op: interpreter.AggregateStatus,
		object: "{spec: {type: LoadBalancer}, status: {conditions: [{type: old}]}}",
		members: []string{
			"loadBalancer: {ingress: [{ip: 2.2.2.2}, {hostname: b.example, ip: 9.9.9.9}, {ip: 1.1.1.1, ipMode: VIP}]}",
			"",
			"loadBalancer: {ingress: [{ip: 1.1.1.1}, {hostname: a.example}, {ip: 1.1.1.1, ipMode: Proxy}, null]}",
			"loadBalancer: null",
			"loadBalancer: {ingress: [{ip: 2.2.2.2}]}",
		},
		want: "loadBalancer: {ingress: [{hostname: a.example}, {hostname: b.example, ip: 9.9.9.9}, {}, " +
			"{ip: 1.1.1.1, ipMode: Proxy}, {ip: 1.1.1.1, ipMode: VIP}, {ip: 1.1.1.1}, {ip: 2.2.2.2}]}"},
	{name: "ports of equal addresses are joined", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}",
		members: []string{
			"loadBalancer: {ingress: [{ip: 1.1.1.1, ports: [{port: 443, protocol: TCP}, {port: 80, protocol: UDP}]}]}",
			"loadBalancer: {ingress: [{ip: 1.1.1.1, ports: [{port: 80, protocol: TCP, error: Taken}, {port: 80, protocol: TCP}, {port: 443, protocol: TCP}]}]}",
		},
		want: "loadBalancer: {ingress: [{ip: 1.1.1.1, ports: [{port: 80, protocol: TCP}, {port: 80, protocol: TCP, error: Taken}, " +
			"{port: 80, protocol: UDP}, {port: 443, protocol: TCP}]}]}"},
	{name: "nobody", op: interpreter.AggregateStatus, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 1.1.1.1}]}}}", want: "loadBalancer: {}"},
	{name: "nobody has reported", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"", ""}, want: "loadBalancer: {}"},
	{name: "other types have no status", op: interpreter.AggregateStatus, object: "status: {a: 1}", members: []string{"loadBalancer: {ingress: [{ip: 1.1.1.1}]}"}, want: "a: 1"},
	{name: "a type of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: []}", wantErr: "spec.type must be text, got a list"},
	{name: "a member's balancer of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: x"},
		wantErr: `cluster "m0": status.loadBalancer must be an object`},
	{name: "a member's host name of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: {ingress: [{hostname: 1}]}"},
		wantErr: `status.loadBalancer.ingress[0].hostname must be text`},
	{name: "a member's address of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: {ingress: [{ip: 1}]}"},
		wantErr: `status.loadBalancer.ingress[0].ip must be text`},
	{name: "a member's mode of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: {ingress: [{ipMode: 1}]}"},
		wantErr: `status.loadBalancer.ingress[0].ipMode must be text`},
	{name: "a member's port of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: {ingress: [{ports: [{port: x}]}]}"},
		wantErr: `status.loadBalancer.ingress[0].ports[0].port must be a whole number`},
	{name: "a member's protocol of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: {ingress: [{ports: [{protocol: 1}]}]}"},
		wantErr: `ports[0].protocol must be text`},
	{name: "a member's port error of a wrong type", op: interpreter.AggregateStatus, object: "spec: {type: LoadBalancer}", members: []string{"loadBalancer: {ingress: [{ports: [{error: 1}]}]}"},
		wantErr: `ports[0].error must be text`},

	{name: "only the balancer", op: interpreter.InterpretStatus, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 1.1.1.1}]}, conditions: []}}", want: "loadBalancer: {ingress: [{ip: 1.1.1.1}]}"},
	{name: "no balancer yet", op: interpreter.InterpretStatus, object: "{spec: {type: LoadBalancer}, status: {}}", want: "loadBalancer: {}"},
	{name: "no status yet", op: interpreter.InterpretStatus, object: "spec: {type: LoadBalancer}", want: "null"},
	{name: "another type", op: interpreter.InterpretStatus, object: "status: {loadBalancer: {}}", want: "null"},
	{name: "status of a wrong type", op: interpreter.InterpretStatus, object: "status: []", wantErr: "status must be an object, got a list"},
	{name: "balancer of a wrong type", op: interpreter.InterpretStatus, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: 1}}", wantErr: "status.loadBalancer must be an object, got 1"},
	{name: "a type of a wrong type", op: interpreter.InterpretStatus, object: "{spec: {type: 3}, status: {}}", wantErr: "spec.type must be text, got 3"},

	{name: "nothing to wait for", op: interpreter.InterpretHealth, want: "Healthy NotBalanced"},
	{name: "an address", op: interpreter.InterpretHealth, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{}, {ip: 1.1.1.1}]}}}", want: "Healthy AddressAssigned"},
	{name: "a host name", op: interpreter.InterpretHealth, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{hostname: a}]}}}", want: "Healthy AddressAssigned"},
	{name: "no address", op: interpreter.InterpretHealth, object: "spec: {type: LoadBalancer}", want: "Progressing NoAddress"},
	{name: "a type of a wrong type", op: interpreter.InterpretHealth, object: "spec: {type: 3}", wantErr: "spec.type must be text"},
	{name: "addresses of a wrong type", op: interpreter.InterpretHealth, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [x]}}}", wantErr: "status.loadBalancer.ingress must hold objects"},
	{name: "a host name of a wrong type", op: interpreter.InterpretHealth, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{hostname: 1}]}}}", wantErr: "ingress[0].hostname must be text"},
	{name: "an IP of a wrong type", op: interpreter.InterpretHealth, object: "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 1}]}}}", wantErr: "ingress[0].ip must be text"},

	{name: "allocated addresses go, node ports stay", op: interpreter.Prune,
		object: "{spec: {clusterIP: 10.0.0.9, clusterIPs: [10.0.0.9], ports: [{nodePort: 30080}], healthCheckNodePort: 1}, status: {}}",
		want:   "{spec: {ports: [{nodePort: 30080}], healthCheckNodePort: 1}}"},
	{name: "what nobody has asked for goes", op: interpreter.Prune, object: `
metadata:
  managedFields:
  - {subresource: status, fieldsV1: {'f:spec': {'f:healthCheckNodePort': {}}}}
  - {fieldsV1: {'f:metadata': {}}}
  - fieldsV1: {'f:spec': {'f:ipFamilyPolicy': {}, 'f:ports': {'k:{"port":80,"protocol":"TCP"}': {'f:port': {}}, 'k:{"port":81,"protocol":"TCP"}': {'f:port': {}}}}}
  - fieldsV1: {'f:spec': {'f:ports': {'k:{"port":81,"protocol":"TCP"}': {'f:nodePort': {}}}}}
spec:
  clusterIP: 10.0.0.9
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  healthCheckNodePort: 31000
  ports: [{port: 80, nodePort: 30080}, {port: 81, protocol: TCP, nodePort: 30081}, {port: 81, protocol: UDP, nodePort: 30081}]`,
		want: "{metadata: {}, spec: {ipFamilyPolicy: SingleStack, ports: [{port: 80}, {port: 81, protocol: TCP, nodePort: 30081}, {port: 81, protocol: UDP, nodePort: 30081}]}}"},
	{name: "nothing is known", op: interpreter.Prune,
		object: "{metadata: {managedFields: [{fieldsV1: {'f:metadata': {}}}]}, spec: {ipFamilies: [IPv4], ports: [{port: 80, nodePort: 30080}]}}",
		want:   "{metadata: {}, spec: {ipFamilies: [IPv4], ports: [{port: 80, nodePort: 30080}]}}"},
	{name: "a record of a wrong type", op: interpreter.Prune, object: "metadata: {managedFields: x}", wantErr: "metadata.managedFields must be a list"},
	{name: "a record of a part of a wrong type", op: interpreter.Prune, object: "metadata: {managedFields: [{subresource: 1}]}", wantErr: "metadata.managedFields[0].subresource must be text"},
	{name: "recorded fields of a wrong type", op: interpreter.Prune, object: "metadata: {managedFields: [{fieldsV1: 1}]}", wantErr: "metadata.managedFields[0].fieldsV1 must be an object"},
	{name: "ports of a wrong type", op: interpreter.Prune, object: "spec: {ports: x}", wantErr: "spec.ports must be a list"},
	{name: "headless stays", op: interpreter.Prune, object: "spec: {clusterIP: None, clusterIPs: [None]}", want: "spec: {clusterIP: None, clusterIPs: [None]}"},
	{name: "an address of a wrong type", op: interpreter.Prune, object: "spec: {clusterIP: 1}", wantErr: "spec.clusterIP must be text"},
}

var ingressExamples = []example{
	{name: "addresses of all members", op: interpreter.AggregateStatus, object: "status: {old: 1}",
		members: []string{"loadBalancer: {ingress: [{ip: 2.2.2.2}]}", "loadBalancer: {ingress: [{ip: 1.1.1.1}, {ip: 2.2.2.2}]}"},
		want:    "loadBalancer: {ingress: [{ip: 1.1.1.1}, {ip: 2.2.2.2}]}"},
	{name: "an address", op: interpreter.InterpretHealth, object: "status: {loadBalancer: {ingress: [{ip: 1.1.1.1}]}}", want: "Healthy AddressAssigned"},
	{name: "an empty entry", op: interpreter.InterpretHealth, object: "status: {loadBalancer: {ingress: [{}]}}", want: "Progressing NoAddress"},
	{name: "certificates and backends", op: interpreter.InterpretDependency, object: `
spec:
  tls: [{secretName: cert}, {hosts: [a]}, {secretName: cert, hosts: [b]}, null]
  defaultBackend: {service: {name: fallback}}
  rules:
  - {host: a}
  - http:
      paths:
      - {path: /, backend: {service: {name: web}}}
      - {path: /static, backend: {resource: {apiGroup: k8s.example.com, kind: StorageBucket, name: b}}}`,
		want: `
v1 Secret ns1/cert
v1 Service ns1/fallback
v1 Service ns1/web`},
	{name: "none", op: interpreter.InterpretDependency, want: ""},
	{name: "tls of a wrong type", op: interpreter.InterpretDependency, object: "spec: {tls: {}}", wantErr: "spec.tls must be a list, got an object"},
	{name: "a secret of a wrong type", op: interpreter.InterpretDependency, object: "spec: {tls: [{}, {secretName: 1}]}", wantErr: "spec.tls[1].secretName must be text, got 1"},
	{name: "a default backend of a wrong type", op: interpreter.InterpretDependency, object: "spec: {defaultBackend: {service: x}}", wantErr: "spec.defaultBackend.service must be an object"},
	{name: "a backend of a wrong type", op: interpreter.InterpretDependency, object: "spec: {rules: [{http: {paths: [{backend: {service: {name: []}}}]}}]}",
		wantErr: "spec.rules[0].http.paths[0].backend.service.name must be text, got a list"},
}

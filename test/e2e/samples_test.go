package e2e

// samples are objects as users write them, by a name that says what is special about them.
var samples = map[string]string{
	"Deployment": `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {deployment.kubernetes.io/revision: "3", owner: shop}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: example.com/web:1
        resources: {requests: {cpu: 250m}, limits: {cpu: 500m, memory: 64Mi}}
        envFrom: [{configMapRef: {name: web}}]
`,
	"ReplicaSet": `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
`,
	"ReplicationController": `
apiVersion: v1
kind: ReplicationController
metadata: {name: old}
spec:
  replicas: 2
  template:
    metadata: {labels: {app: old}}
    spec: {containers: [{name: web, image: example.com/web:1}]}
`,
	"StatefulSet": `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: example.com/db:1, volumeMounts: [{name: data, mountPath: /data}]}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
	"DaemonSet": `
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec: {containers: [{name: agent, image: example.com/agent:1}], tolerations: [{operator: Exists}]}
`,
	"Job": `
apiVersion: batch/v1
kind: Job
metadata: {name: sum, labels: {app: sum}}
spec:
  parallelism: 2
  completions: 4
  ttlSecondsAfterFinished: 600
  template:
    metadata: {labels: {app: sum}}
    spec: {restartPolicy: Never, containers: [{name: sum, image: example.com/sum:1}]}
`,
	"Job, bare": `
apiVersion: batch/v1
kind: Job
metadata: {name: bare}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: sum, image: example.com/sum:1}]}}}
`,
	"Job, manual selector": `
apiVersion: batch/v1
kind: Job
metadata: {name: manual}
spec:
  manualSelector: true
  selector: {matchLabels: {job: by-hand}}
  template:
    metadata: {labels: {job: by-hand}}
    spec: {restartPolicy: Never, containers: [{name: sum, image: example.com/sum:1}]}
`,
	"Job, indexed": `
apiVersion: batch/v1
kind: Job
metadata: {name: indexed}
spec:
  completionMode: Indexed
  parallelism: 2
  completions: 4
  backoffLimitPerIndex: 1
  maxFailedIndexes: 2
  successPolicy: {rules: [{succeededCount: 2}]}
  template: {spec: {restartPolicy: Never, containers: [{name: sum, image: example.com/sum:1}]}}
`,
	"Job, suspended": `
apiVersion: batch/v1
kind: Job
metadata: {name: waiting}
spec:
  suspend: true
  completions: 1
  template: {spec: {restartPolicy: OnFailure, containers: [{name: sum, image: example.com/sum:1}]}}
`,
	"CronJob": `
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate: {spec: {ttlSecondsAfterFinished: 60, template: {spec: {restartPolicy: OnFailure, containers: [{name: sum, image: example.com/sum:1}]}}}}
`,
	"Pod": `
apiVersion: v1
kind: Pod
metadata: {name: one, labels: {app: one}}
spec:
  initContainers: [{name: prepare, image: example.com/prepare:1}]
  containers: [{name: main, image: example.com/main:1}]
`,
	"Pod, never restarted": `
apiVersion: v1
kind: Pod
metadata: {name: once}
spec:
  restartPolicy: Never
  initContainers: [{name: prepare, image: example.com/prepare:1}, {name: proxy, image: example.com/proxy:1, restartPolicy: Always}]
  containers: [{name: main, image: example.com/main:1}, {name: side, image: example.com/side:1}]
`,
	"Pod, restarted on failure": `
apiVersion: v1
kind: Pod
metadata: {name: until-done}
spec:
  restartPolicy: OnFailure
  initContainers: [{name: prepare, image: example.com/prepare:1}, {name: proxy, image: example.com/proxy:1, restartPolicy: Always}]
  containers: [{name: main, image: example.com/main:1}]
`,
	"Pod, restarted as containers say": `
apiVersion: v1
kind: Pod
metadata: {name: by-rules}
spec:
  restartPolicy: OnFailure
  initContainers: [{name: prepare, image: example.com/prepare:1, restartPolicy: Never}, {name: proxy, image: example.com/proxy:1, restartPolicy: Always}]
  containers:
  - name: main
    image: example.com/main:1
    restartPolicy: Never
    restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [0]}}]
`,
	"Pod, restarted as a whole": `
apiVersion: v1
kind: Pod
metadata: {name: together}
spec:
  restartPolicy: Never
  initContainers: [{name: prepare, image: example.com/prepare:1}, {name: proxy, image: example.com/proxy:1, restartPolicy: Always}]
  containers:
  - name: main
    image: example.com/main:1
    restartPolicy: Never
    restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [7]}}]
`,
	"Service": `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
`,
	"Service, headless": `
apiVersion: v1
kind: Service
metadata: {name: peers}
spec: {clusterIP: None, selector: {app: db}, ports: [{port: 5432}]}
`,
	"Service, node port": `
apiVersion: v1
kind: Service
metadata: {name: edge}
spec: {type: NodePort, selector: {app: web}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP}, {name: dns-tcp, port: 53}]}
`,
	"Service, load balancer": `
apiVersion: v1
kind: Service
metadata: {name: shop}
spec: {type: LoadBalancer, externalTrafficPolicy: Local, selector: {app: web}, ports: [{name: http, port: 80}, {name: https, port: 443}]}
`,
	"Service, external name": `
apiVersion: v1
kind: Service
metadata: {name: elsewhere}
spec: {type: ExternalName, externalName: db.example.com}
`,
	"Ingress": `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop}
spec:
  tls: [{hosts: [shop.example.com], secretName: cert}]
  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]
`,
	"NetworkPolicy": `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: quiet}
spec: {podSelector: {}, policyTypes: [Ingress]}
`,
	"PersistentVolumeClaim": `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, annotations: {volume.kubernetes.io/selected-node: n1}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`,
	"PersistentVolume": `
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  storageClassName: slow
  nfs: {server: nfs.example.com, path: /disk}
`,
	"PodDisruptionBudget": `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
`,
	"HorizontalPodAutoscaler": `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  minReplicas: 1
  maxReplicas: 10
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`,
	"ConfigMap": `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {level: info}
`,
	"Secret": `
apiVersion: v1
kind: Secret
metadata: {name: cert}
type: kubernetes.io/tls
data: {tls.crt: "", tls.key: ""}
`,
	"Secret, token": `
apiVersion: v1
kind: Secret
metadata: {name: robot-key, annotations: {kubernetes.io/service-account.name: default}}
type: kubernetes.io/service-account-token
`,
	"ServiceAccount": `
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
secrets: [{name: robot-token-abcde}, {name: robot-token-fghij}, {name: mine}]
imagePullSecrets: [{name: registry}]
`,
	"Namespace": `
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {team: shop}}
`,
	"LimitRange": `
apiVersion: v1
kind: LimitRange
metadata: {name: sane}
spec: {limits: [{type: Container, max: {cpu: "8"}}]}
`,
	"ResourceQuota": `
apiVersion: v1
kind: ResourceQuota
metadata: {name: fair}
spec: {hard: {pods: "100"}}
`,
	"Endpoints slice": `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
endpoints: [{addresses: [10.1.2.3]}]
ports: [{name: http, port: 8080}]
`,
	"Role": `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
`,
	"RoleBinding": `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: robot, namespace: shop}]
`,
	"ClusterRole": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: reader}
rules: [{apiGroups: [""], resources: [nodes], verbs: [get]}]
`,
	"ClusterRoleBinding": `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: reader}
subjects: [{kind: ServiceAccount, name: robot, namespace: shop}]
`,
	"PriorityClass": `
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: urgent}
value: 1000
`,
	"StorageClass": `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: slow}
provisioner: example.com/slow
`,
	"CustomResourceDefinition": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {service: {name: widgets, namespace: shop}}}
`,
	"APIService": `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1.example.com}
spec: {group: example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {name: widgets, namespace: shop}}
`,
	"MutatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: widgets}
webhooks:
- name: one.widgets.example.com
  clientConfig: {service: {name: widgets, namespace: shop}}
  rules: [{apiGroups: [nobody.example.com], apiVersions: [v1], resources: [widgets], operations: [CREATE]}]
  admissionReviewVersions: [v1]
  sideEffects: None
- name: two.widgets.example.com
  clientConfig: {service: {name: widgets, namespace: shop, path: /two}}
  admissionReviewVersions: [v1]
  sideEffects: None
`,
	"ValidatingWebhookConfiguration": `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: widgets}
webhooks:
- name: one.widgets.example.com
  clientConfig: {service: {name: widgets, namespace: shop}}
  rules: [{apiGroups: [nobody.example.com], apiVersions: [v1], resources: [widgets], operations: [CREATE]}]
  admissionReviewVersions: [v1]
  sideEffects: None
`,
	"ResourceInterpreterCustomization": `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: widgets}
spec:
  target: {apiVersion: "*.example.com/*", kind: Widget, labelSelector: {matchLabels: {tier: gold}, matchExpressions: [{key: team, operator: In, values: [shop, data]}]}}
  customizations:
    pruning: {luaScript: "function Prune(obj) obj.spec = nil return obj end"}
    healthInterpretation: {luaScript: "function InterpretHealth(obj) return obj.status.ready == true end"}
`,
	"ResourceInterpreterWebhookConfiguration": `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterWebhookConfiguration
metadata: {name: widgets}
webhooks:
- name: widgets.example.com
  clientConfig: {service: {name: widgets, namespace: shop, path: /interpret, port: 8443}, caBundle: Q0E=}
  rules:
  - {operations: [InterpretHealth, Prune], apiGroups: [example.com], apiVersions: [v1], kinds: [Widget]}
  - {operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], kinds: ["*"]}
  timeoutSeconds: 3
  interpreterContextVersions: [v1alpha1]
- name: far.example.com
  clientConfig: {url: "https://widgets.example.com:8443/interpret"}
  interpreterContextVersions: [v1alpha1]
`,
}

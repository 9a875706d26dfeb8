-- What the bundled scripts share. They get it by: local rules = require("rules")
--
-- Everything here takes an object without spec or status, and a null like a missing field. A field that is
-- read and has the wrong type is an error that names it.
local kube = require("kube")

local rules = {}

-- Reading -------------------------------------------------------------------------------------------------

-- fail raises an error without a line: the mistake is in an object, not in a script.
function rules.fail(message, ...)
  error(string.format(message, ...), 0)
end

-- shown is a path as people know it: in Lua lists count from 1, in an object from 0.
local function shown(path)
  return (string.gsub(path, "%[(%d+)%]", function(n) return string.format("[%d]", n - 1) end))
end

local function wrong(path, want, got)
  rules.fail("%s must be %s, got %s", shown(path), want, type(got) == "string" and string.format("%q", got) or tostring(got))
end

-- text is the text at a path, or the default.
function rules.text(object, path, default)
  local v = kube.get(object, path, default)
  if v ~= nil and type(v) ~= "string" then wrong(path, "text", v) end
  return v
end

-- fits fails unless v, the number at a path, is whole and has no more bits than a number of the API.
local function fits(path, v, bits)
  if type(v) ~= "number" or v % 1 ~= 0 then wrong(path, "a whole number", v) end
  if v < -2 ^ (bits - 1) or v >= 2 ^ (bits - 1) then wrong(path, string.format("a whole number of %d bits", bits), v) end
  return v
end

-- int is the whole number at a path, or the default. Most numbers of APIs have 32 bits.
function rules.int(object, path, default)
  local v = kube.get(object, path, default)
  return v ~= nil and fits(path, v, 32) or nil
end

-- long is int for what has 64 bits, such as a generation.
function rules.long(object, path, default)
  local v = kube.get(object, path, default)
  return v ~= nil and fits(path, v, 64) or nil
end

-- numeric is int for what may also be text, which is not there where it is empty.
function rules.numeric(object, path, default)
  local v = kube.get(object, path)
  if v == nil or v == "" then v = default end
  if type(v) == "string" and string.match(v, "^%-?%d+$") then v = tonumber(v) end
  return v ~= nil and fits(path, v, 32) or nil
end

-- decimal is the number at a path, which may be text and have a fraction, or the default.
function rules.decimal(object, path, default)
  local v = kube.get(object, path, default)
  local number = rules.number(v)
  if v ~= nil and number == nil then wrong(path, "a number", v) end
  return number
end

-- flag is the boolean at a path, or nil.
function rules.flag(object, path)
  local v = kube.get(object, path)
  if v ~= nil and type(v) ~= "boolean" then wrong(path, "true or false", v) end
  return v
end

-- table is the object or list at a path, or the default.
function rules.table(object, path, default)
  local v = kube.get(object, path, default)
  if v ~= nil and type(v) ~= "table" then wrong(path, "an object or a list", v) end
  return v
end

-- list is the list of objects at a path, empty where there is none. What is null in it is left out.
function rules.list(object, path)
  local list = kube.array()
  for i, v in ipairs(rules.table(object, path, {})) do
    if v ~= kube.null then
      if type(v) ~= "table" then wrong(string.format("%s[%d]", path, i), "an object", v) end
      table.insert(list, v)
    end
  end
  return list
end

-- required is the object or list at a path that must be there.
function rules.required(object, path)
  return rules.table(object, path) or rules.fail("%s is required", shown(path))
end

-- namespace is the object's, nil where it has none.
function rules.namespace(object) return rules.text(object, "metadata.namespace") end

-- entries goes through the objects under the keys of an object, in the order of the keys.
function rules.entries(object, path)
  local found = rules.table(object, path) or {}
  local keys, i = rules.keys(found), 0
  return function()
    i = i + 1
    local key = keys[i]
    if key == nil then return nil end
    if type(found[key]) ~= "table" then wrong(path .. "." .. key, "an object", found[key]) end
    return tostring(key), found[key]
  end
end

-- number is a number, or text that is one; else the default.
function rules.number(v, default)
  if type(v) == "string" then v = tonumber(v) end
  return type(v) == "number" and v or default
end

-- keys lists the keys of an object in order.
function rules.keys(object)
  local keys = {}
  for key in pairs(object) do table.insert(keys, key) end
  table.sort(keys)
  return keys
end

-- object is the table at a key, made if it is not there.
function rules.object(parent, key)
  if type(parent[key]) ~= "table" then parent[key] = kube.object() end
  return parent[key]
end

-- Replicas and requirements -------------------------------------------------------------------------------

-- inTemplate calls a function of kube on a pod template. What is wrong in the template is told with the path
-- that leads to it.
local function inTemplate(path, call, template, ...)
  local ok, answer = pcall(call, template, ...)
  if ok then return answer end
  rules.fail("%s: %s", shown(path or "spec.template"), string.match(answer, "^%s*(.*)$"))
end

-- requirements are those of a pod template, which is at a path, in the namespace of the object. They are never
-- nil: that a replica runs in the namespace is known even where it needs nothing.
function rules.requirements(object, template, path)
  local requirements = rules.componentRequirements(template, path) or kube.object()
  requirements.namespace = rules.namespace(object)
  return requirements
end

-- replicated is GetReplicas of what has replicas, one if it does not say, and maybe a pod template.
function rules.replicated(object, template, field)
  return rules.int(object, "spec." .. (field or "replicas"), 1), rules.requirements(object, template)
end

-- jobPods is how many pods the job whose spec is at a path has at a time: no more than are to complete.
function rules.jobPods(object, path)
  local pods = rules.int(object, path .. ".parallelism", 1)
  return math.min(pods, rules.int(object, path .. ".completions", pods))
end

-- resize is ReviseReplica of a field of the spec. The field, and the spec, are made if they are not there.
function rules.resize(object, field, replicas)
  rules.int(object, "spec." .. field)
  rules.table(object, "spec")
  rules.object(object, "spec")[field] = replicas
  return object
end

-- onlyComponent is GetComponents of what has one sort of pods. It is called what those of native workloads are.
function rules.onlyComponent(replicas, template, path)
  return { { name = "main", replicas = replicas, replicaRequirements = rules.componentRequirements(template, path) } }
end

-- componentRequirements are those of a component, nil where it needs nothing.
function rules.componentRequirements(template, path)
  return template and inTemplate(path, kube.accuratePodRequirements, template)
end

-- scaled is GetReplicas of what has spec.replicas and a pod template. With a template but without a number it is
-- an error, as Karmada has it; an object that says nothing yet asks for one.
function rules.scaled(object, template, path)
  if template == nil then return rules.replicated(object) end
  local replicas = rules.int(object, "spec.replicas") or rules.fail("spec.replicas is required")
  return replicas, rules.requirements(object, template, path)
end

-- revise is ReviseReplica of a field of the spec, which is made if it is not there.
function rules.revise(object, field, replicas)
  rules.table(object, "spec")
  rules.int(object, "spec." .. field)
  rules.object(object, "spec")[field] = replicas
  return object
end

-- quantity is the quantity at a path; some kinds have numbers in the place of one.
function rules.quantity(object, path)
  local v = kube.get(object, path)
  if v == nil then return nil end
  local text = type(v) == "number" and tostring(v) or v
  if type(text) ~= "string" or not pcall(kube.resourceAdd, text) then wrong(path, "a quantity", v) end
  return text
end

-- javaUnits are sizes as the JVM's projects write them, in any letter case: 2g is 2 GiB.
local javaUnits = {
  b = "", bytes = "", k = "Ki", kb = "Ki", m = "Mi", mb = "Mi", g = "Gi", gb = "Gi", t = "Ti", tb = "Ti", p = "Pi",
  pb = "Pi",
}

-- javaSize is the size at a path as a quantity. A bare number is in the given unit, bytes if none is given. What is
-- written as a quantity with a binary unit is one.
function rules.javaSize(object, path, bare)
  local v = kube.get(object, path)
  local text = type(v) == "number" and tostring(v) or v
  local number, unit
  if type(text) == "string" then number, unit = string.match(text, "^%s*(%d+%.?%d*)%s*(%a*)%s*$") end
  if number == nil then return rules.quantity(object, path) end
  if unit == "" then return number .. (bare or "") end
  local known = javaUnits[string.lower(unit)]
  return known and number .. known or rules.quantity(object, path)
end

-- greater are two lists of resources as one, in which each has the greater quantity.
function rules.greater(a, b)
  local greater = kube.object()
  for _, list in ipairs({ a, b }) do
    for name, quantity in pairs(list) do
      if greater[name] == nil or kube.resourceCompare(quantity, greater[name]) > 0 then greater[name] = quantity end
    end
  end
  return greater
end

-- Dependencies --------------------------------------------------------------------------------------------

-- podDependencies are those of a pod template, which is at a path; none without one. They are in the namespace of
-- the object unless another is given.
function rules.podDependencies(object, template, path, namespace)
  if template == nil then return kube.array() end
  return inTemplate(path, kube.getPodDependencies, template, namespace or rules.namespace(object) or "")
end

-- reference adds a core object in the namespace of the object to a list. Without a name there is nothing to add.
function rules.reference(list, object, kind, name)
  if name == nil or name == "" then return end
  table.insert(list, { apiVersion = "v1", kind = kind, namespace = rules.namespace(object), name = name })
end

-- references adds the objects of one core kind that are named at paths.
function rules.references(list, object, kind, paths)
  for _, path in ipairs(paths) do
    rules.reference(list, object, kind, rules.text(object, path))
  end
end

-- extend adds the entries of one list to another.
function rules.extend(list, more)
  for _, entry in ipairs(more) do table.insert(list, entry) end
  return list
end

-- selectors are the fields of the Prometheus operator's kinds that select a key of a Secret or ConfigMap.
local selectors = { configMap = "ConfigMap", configMapKeyRef = "ConfigMap" }
for _, field in ipairs({
  "secret", "secretKeyRef", "username", "password", "bearerTokenSecret", "credentials", "clientSecret", "keySecret",
  "accessKey", "secretKey", "additionalScrapeConfigs", "additionalAlertRelabelConfigs", "additionalAlertManagerConfigs",
  "objectStorageConfig", "tracingConfig", "proxyConnectHeader", "authPassword", "authSecret", "slackApiUrl",
  "opsGenieApiKey", "apiKey", "apiSecret", "token", "tokenID",
}) do
  selectors[field] = "Secret"
end

-- selected adds the Secrets and ConfigMaps of which anything below v, which is in a field, selects a key: {name, key}.
-- Labels may have such names too, so only known fields count.
function rules.selected(list, object, v, field)
  if type(v) ~= "table" then return end
  if selectors[field] and type(v.name) == "string" and type(v.key) == "string" then
    rules.reference(list, object, selectors[field], v.name)
    return
  end
  for key, inner in pairs(v) do
    -- The keys of headers are anybody's as well, but their values are selectors.
    local below = type(key) == "string" and field ~= "proxyConnectHeader" and key or field
    rules.selected(list, object, inner, below)
  end
end

-- Status of one member ------------------------------------------------------------------------------------

-- reflect takes some fields of the status; nil where there is no status yet.
function rules.reflect(object, fields)
  local status = rules.table(object, "status")
  if status == nil then return nil end
  local reflected = kube.object()
  for _, field in ipairs(fields) do reflected[field] = status[field] end
  return reflected
end

-- report is reflect, with what tells whether the member is in sync with the template.
function rules.report(object, fields)
  local reflected = rules.reflect(object, fields)
  if reflected == nil then return nil end
  local known = kube.get(object, 'metadata.annotations["resourcetemplate.karmada.io/generation"]')
  reflected.generation = kube.get(object, "metadata.generation")
  reflected.resourceTemplateGeneration = tonumber(known)
  return reflected
end

-- Aggregation ---------------------------------------------------------------------------------------------

-- observedGeneration is the generation of the template if all members are in sync with it, else what it was.
function rules.observedGeneration(object, items)
  local wanted = rules.long(object, "metadata.generation", 0)
  for _, item in ipairs(items) do
    local seen = rules.long(item, "status.resourceTemplateGeneration", 0) >= wanted
    local done = rules.long(item, "status.observedGeneration", 0) >= rules.long(item, "status.generation", 0)
    if item.status == nil or not seen or not done then
      return rules.long(object, "status.observedGeneration", 0)
    end
  end
  return wanted
end

-- synced gives the status to be written, with the observed generation and the sums of some fields set.
function rules.synced(object, items, fields)
  local generation = rules.observedGeneration(object, items)
  local status = rules.object(object, "status")
  status.observedGeneration = generation
  rules.sum(status, items, fields)
  return status
end

-- plus is a sum that is at a path, of numbers that have 32 bits unless it says otherwise.
function rules.plus(path, a, b, bits)
  local sum, limit = a + b, 2 ^ ((bits or 32) - 1)
  if sum < -limit or sum >= limit then
    rules.fail("the sum of %s over all members must be a whole number of %d bits", shown(path), bits or 32)
  end
  return sum
end

-- total is the sum of a number over all items. It has 32 bits unless it says otherwise.
function rules.total(items, path, bits)
  local sum, read = 0, bits == 64 and rules.long or rules.int
  for _, item in ipairs(items) do sum = rules.plus(path, sum, read(item, path, 0), bits) end
  return sum
end

-- totalQuantity is the sum of a quantity over all items.
function rules.totalQuantity(items, path)
  local sum = "0"
  for _, item in ipairs(items) do sum = kube.resourceAdd(sum, rules.quantity(item, path)) end
  return sum
end

-- sum sets fields of the status to the sums of what the members report.
function rules.sum(status, items, fields, bits)
  for _, field in ipairs(fields) do status[field] = rules.total(items, "status." .. field, bits) end
end

-- last is the last value at a path that is there.
function rules.last(items, path)
  for i = #items, 1, -1 do
    local v = kube.get(items[i], path)
    if v ~= nil then return v end
  end
end

-- lastText is the last text at a path that is not empty, or the default.
function rules.lastText(items, path, default)
  for i = #items, 1, -1 do
    local v = rules.text(items[i], path, "")
    if v ~= "" then return v end
  end
  return default
end

-- lastTexts sets fields of the status to the last texts that are not empty; where there is none, to empty text.
function rules.lastTexts(status, items, fields)
  for _, field in ipairs(fields) do status[field] = rules.lastText(items, "status." .. field, "") end
end

-- keepTexts sets fields of the status to the last texts that are not empty. Where there is none they stay; with no
-- members at all they are there, if only empty.
function rules.keepTexts(status, items, fields)
  for _, field in ipairs(fields) do
    status[field] = rules.lastText(items, "status." .. field, status[field] or (#items == 0 and "" or nil))
  end
end

-- first is the first value at a path that is there.
function rules.first(items, path)
  for _, item in ipairs(items) do
    local v = kube.get(item, path)
    if v ~= nil then return v end
  end
end

-- earliest and latest compare times as text, which is right for the form in which Kubernetes writes them.
function rules.earliest(items, path)
  local found
  for _, item in ipairs(items) do
    local time = rules.text(item, path, "")
    if time ~= "" and (found == nil or time < found) then found = time end
  end
  return found
end

function rules.latest(items, path)
  local found
  for _, item in ipairs(items) do
    local time = rules.text(item, path, "")
    if time ~= "" and (found == nil or time > found) then found = time end
  end
  return found
end

-- highest is the first item whose text at a path has the highest rank. Texts without a rank have the lowest; empty
-- ones do not count.
function rules.highest(items, path, ranks)
  local found, best
  for _, item in ipairs(items) do
    local v = rules.text(item, path, "")
    if v ~= "" and (best == nil or (ranks[v] or 0) > best) then found, best = item, ranks[v] or 0 end
  end
  return found
end

-- append lists the entries of all members' lists in order.
function rules.append(items, path)
  local list = kube.array()
  for _, item in ipairs(items) do
    for _, entry in ipairs(rules.list(item, path)) do table.insert(list, entry) end
  end
  return list
end

-- union is one object of all members' objects; of entries with the same key the last one counts.
function rules.union(items, path)
  local union = kube.object()
  for _, item in ipairs(items) do
    for key, v in pairs(rules.table(item, path) or {}) do union[key] = v end
  end
  return union
end

-- prune removes zeros, empty texts, "0s" and what is empty, at all depths. It gives nil if nothing is left.
function rules.prune(v)
  if type(v) ~= "table" then
    if v == 0 or v == "" or v == "0s" then return nil end
    return v
  end
  if #v > 0 then
    local list = kube.array()
    for _, entry in ipairs(v) do
      local kept = entry ~= kube.null and rules.prune(entry)
      if kept then table.insert(list, kept) end
    end
    return #list > 0 and list or nil
  end
  for _, key in ipairs(rules.keys(v)) do v[key] = rules.prune(v[key]) end
  return next(v) ~= nil and v or nil
end

-- Conditions ----------------------------------------------------------------------------------------------

-- now is the time as Kubernetes writes it.
function rules.now() return os.date("!%Y-%m-%dT%H:%M:%SZ") end

-- isTrue says whether the object has a condition that is True.
function rules.isTrue(object, kind)
  local condition = kube.condition(object, kind)
  return condition ~= nil and condition.status == "True"
end

-- mergeConditions puts the conditions of all members into one list. Those of the same type, status and reason
-- are joined; the messages say which cluster they are from.
function rules.mergeConditions(items)
  local merged = kube.array()
  for _, item in ipairs(items) do
    for _, condition in ipairs(rules.list(item, "status.conditions")) do
      local message = string.format("%s=%s", item.clusterName or "", rules.text(condition, "message", ""))
      local same
      for _, other in ipairs(merged) do
        if other.type == condition.type and other.status == condition.status and other.reason == condition.reason then
          same = other
        end
      end
      if same then
        same.message = same.message .. ", " .. message
      else
        condition.message = message
        table.insert(merged, condition)
      end
    end
  end
  return merged
end

-- newCondition is a condition as an aggregate shows it.
function rules.newCondition(kind, reason, message, times)
  local condition = { type = kind, status = "True", reason = reason, message = message }
  for _, field in ipairs(times or {}) do condition[field] = rules.now() end
  return condition
end

-- clusters lists the names of the clusters whose item a function accepts.
function rules.clusters(items, accepts)
  local names = {}
  for _, item in ipairs(items) do
    if accepts(item) then table.insert(names, item.clusterName or "") end
  end
  return names
end

-- Training jobs -------------------------------------------------------------------------------------------

-- roleComponents are the parts of a job that has some roles, at a path, each with replicas and a template.
function rules.roleComponents(object, path, names)
  local components = kube.array()
  for _, name in ipairs(names) do
    local at = path .. "." .. name
    local role = rules.table(object, at)
    if role then
      table.insert(components, {
        name = string.lower(name),
        replicas = rules.numeric(object, at .. ".replicas", 1),
        replicaRequirements = rules.componentRequirements(rules.table(object, at .. ".template"), at .. ".template"),
      })
    end
  end
  return components
end

-- templatesDependencies are those of the pod templates at some paths together.
function rules.templatesDependencies(object, paths)
  local list = kube.array()
  for _, path in ipairs(paths) do
    for _, reference in ipairs(rules.podDependencies(object, rules.table(object, path), path)) do
      table.insert(list, reference)
    end
  end
  return list
end

-- roleDependencies are those of the templates of some roles at a path.
function rules.roleDependencies(object, path, names)
  local paths = {}
  for _, name in ipairs(names) do table.insert(paths, path .. "." .. name .. ".template") end
  return rules.templatesDependencies(object, paths)
end

-- roleTotals adds up how many pods of each role are active, failed and succeeded.
function rules.roleTotals(items)
  local totals = kube.object()
  for _, item in ipairs(items) do
    for name in rules.entries(item, "status.replicaStatuses") do
      local total = rules.object(totals, name)
      for _, field in ipairs({ "active", "failed", "succeeded" }) do
        local path = string.format("status.replicaStatuses.%s.%s", name, field)
        total[field] = rules.plus(path, total[field] or 0, rules.int(item, path, 0))
      end
    end
  end
  return totals
end

-- trainingNone is the answer without members: what they told is gone, and the rest of the status stays.
function rules.trainingNone(object)
  local status = rules.object(object, "status")
  for _, field in ipairs({ "startTime", "completionTime", "replicaStatuses", "conditions" }) do status[field] = nil end
  return object
end

-- trainingTotals gives the status with times and counts set, the clusters in which the job failed and succeeded by the
-- verdict on each, and the time of the latest end. That is the completion time if all have succeeded.
function rules.trainingTotals(object, items, verdict)
  local status = rules.object(object, "status")
  status.startTime = rules.earliest(items, "status.startTime")
  status.lastReconcileTime = rules.latest(items, "status.lastReconcileTime")
  status.replicaStatuses = rules.roleTotals(items)
  local failed = rules.clusters(items, function(item) return verdict(item) == "Failed" end)
  local succeeded = rules.clusters(items, function(item) return verdict(item) == "Succeeded" end)
  local completed = rules.latest(items, "status.completionTime")
  if #failed == 0 and #succeeded == #items then status.completionTime = completed or status.completionTime end
  return status, failed, succeeded, completed
end

-- trainingHealth is that of a job with the usual conditions: healthy until it has failed.
function rules.trainingHealth(object)
  if rules.table(object, "status.conditions") == nil then
    return rules.progressing("NotReported", "there are no conditions yet")
  end
  local failed = kube.condition(object, "Failed")
  if failed and failed.status == "True" then return rules.degraded(failed.reason, failed.message) end
  if rules.isTrue(object, "Suspended") then return rules.suspended("Suspended", "the job is suspended") end
  for _, kind in ipairs({ "Succeeded", "Restarting", "Running", "Created" }) do
    if rules.isTrue(object, kind) then return rules.healthy(kind, kube.condition(object, kind).message) end
  end
  return rules.healthy("NotFailed", "the job has not failed")
end

-- Flink ---------------------------------------------------------------------------------------------------

-- flinkReplicas is how many of a manager there are: as given; of task managers else as many as the parallelism needs.
local function flinkReplicas(object, manager)
  local path = "spec." .. manager .. ".replicas"
  -- Text that is no number counts as none, as it does in Karmada.
  local given = kube.get(object, path)
  if type(given) == "string" and rules.number(given) == nil then given = nil end
  given = given ~= nil and rules.numeric(object, path) or nil
  if given or manager == "jobManager" then return given or 1 end
  local parallelism = rules.numeric(object, "spec.job.parallelism")
  local slots = rules.numeric(object, 'spec.flinkConfiguration["taskmanager.numberOfTaskSlots"]')
  if parallelism and slots and slots ~= 0 then return math.ceil(parallelism / slots) end
  return 1
end

-- flinkManager is one of the two managers as a component, with sizes in Kubernetes' spelling, on the nodes that the
-- pod template allows.
function rules.flinkManager(object, manager)
  local path, spec = "spec." .. manager .. ".resource", rules.table(object, "spec.podTemplate.spec") or {}
  local requirements = {
    resourceRequest = {
      cpu = rules.quantity(object, path .. ".cpu"), memory = rules.javaSize(object, path .. ".memory"),
    },
    priorityClassName = spec.priorityClassName,
  }
  if spec.nodeSelector or spec.tolerations then
    requirements.nodeClaim = { nodeSelector = spec.nodeSelector, tolerations = spec.tolerations }
  end
  return {
    name = string.lower(manager), replicas = flinkReplicas(object, manager), replicaRequirements = requirements,
  }
end

-- Ray -----------------------------------------------------------------------------------------------------

-- rayGroups lists the worker groups of the cluster spec at a path, and for each the path of its template.
function rules.rayGroups(object, path)
  local groups, paths = rules.list(object, path .. ".workerGroupSpecs"), {}
  for i in ipairs(groups) do paths[i] = string.format("%s.workerGroupSpecs[%d].template", path, i) end
  return groups, paths
end

-- rayPods is how many pods a worker group has. A suspended one has none.
function rules.rayPods(group)
  if group.suspend == true then return 0 end
  return rules.int(group, "replicas", 0) * rules.int(group, "numOfHosts", 1)
end

-- rayComponents are the head and the worker groups of the cluster spec at a path. A suspended cluster keeps its
-- components, without any pods.
function rules.rayComponents(object, path, suspended)
  local components = kube.array()
  local headPath = path .. ".headGroupSpec.template"
  local head = rules.table(object, headPath)
  suspended = suspended or kube.get(object, path .. ".suspend") == true
  if head then
    table.insert(components, {
      name = "ray-head",
      replicas = suspended and 0 or 1,
      replicaRequirements = rules.componentRequirements(head, headPath),
    })
  end
  local groups, paths = rules.rayGroups(object, path)
  for i, group in ipairs(groups) do
    local name = rules.text(group, "groupName", "")
    table.insert(components, {
      name = name ~= "" and name or "worker-" .. i,
      replicas = suspended and 0 or rules.rayPods(group),
      replicaRequirements = rules.componentRequirements(rules.table(group, "template"), paths[i]),
    })
  end
  return components
end

-- rayDependencies are those of the pod templates of the cluster spec at a path, and of one more at another.
function rules.rayDependencies(object, path, more)
  local _, paths = rules.rayGroups(object, path)
  table.insert(paths, path .. ".headGroupSpec.template")
  table.insert(paths, more)
  return rules.templatesDependencies(object, paths)
end

-- Kruise --------------------------------------------------------------------------------------------------

-- What the workloads report, in both versions of their API.
rules.cloneSet = {
  counters = {
    "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "updatedReadyReplicas", "expectedUpdatedReplicas",
  },
  texts = { "updateRevision", "currentRevision", "labelSelector" },
}
rules.advancedDaemonSet = {
  counters = {
    "currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "updatedNumberScheduled",
    "numberAvailable", "numberUnavailable",
  },
  texts = { "daemonSetHash" },
}

-- reportCounters is report of such fields, and syncedCounters synced of them.
function rules.reportCounters(object, fields)
  return rules.report(object, rules.extend(rules.extend({ "observedGeneration" }, fields.counters), fields.texts))
end

function rules.syncedCounters(object, items, fields)
  local status = rules.synced(object, items, fields.counters)
  rules.lastTexts(status, items, fields.texts)
  return status
end

-- partition is how many of what is wanted the field at a path leaves as they are: a number, or a share such as 30%,
-- which is rounded up. Of several, any share but 100% leaves at least one to be updated.
function rules.partition(object, path, wanted)
  local v = kube.get(object, path, 0)
  local share = type(v) == "string" and tonumber((string.match(v, "^(%d+)%%$")))
  if not share then return rules.int(object, path, 0) end
  local kept = math.ceil(wanted * share / 100)
  return wanted > 1 and v ~= "100%" and math.min(kept, wanted - 1) or kept
end

-- partialRollout is rollout of what may be told to leave some replicas, kept, as they are, or to pause.
function rules.partialRollout(wanted, kept, updated, available, paused)
  if updated == nil or available == nil then
    return rules.progressing("NotReported", "the counters are not all reported yet")
  end
  local expected = math.max(wanted - kept, 0)
  if updated < expected then
    if paused then return rules.suspended("Paused", "%d of %d replicas are updated", updated, expected) end
    return rules.progressing("Updating", "%d of %d replicas are updated", updated, expected)
  end
  if available < wanted then
    return rules.progressing("Unavailable", "%d of %d replicas are available", available, wanted)
  end
  return rules.healthy("Available", "%d replicas are available", available)
end

-- claimingDependencies are those of spec.template, but for the claims that volumeClaimTemplates make for each pod.
function rules.claimingDependencies(object)
  local claims = rules.list(object, "spec.volumeClaimTemplates")
  return rules.podDependencies(object, rules.withoutClaims(rules.table(object, "spec.template"), claims))
end

-- unitedTemplate is the pod template of the workload which the subsets of a UnitedDeployment are made of, or
-- spec.template itself; and its path.
function rules.unitedTemplate(object)
  for _, kind in ipairs({
    "statefulSetTemplate", "advancedStatefulSetTemplate", "cloneSetTemplate", "deploymentTemplate",
  }) do
    local path = "spec.template." .. kind
    if rules.table(object, path) then return rules.table(object, path .. ".spec.template"), path .. ".spec.template" end
  end
  return rules.table(object, "spec.template"), "spec.template"
end

-- unitedDependencies are those of the template, but for the claims that are made for each pod.
function rules.unitedDependencies(object)
  local template, path = rules.unitedTemplate(object)
  local workload = string.match(path, "^(spec%.template%..+)%.template$")
  local claims = workload and rules.list(object, workload .. ".volumeClaimTemplates") or {}
  return rules.podDependencies(object, rules.withoutClaims(template, claims), path)
end

-- cronComponents is GetComponents of an AdvancedCronJob. How many runs overlap is up to the schedule; one is counted.
function rules.cronComponents(object)
  local path = "spec.template.jobTemplate.spec"
  if rules.table(object, path) == nil then path = "spec.template.broadcastJobTemplate.spec" end
  if rules.table(object, path) == nil then return nil end
  return rules.onlyComponent(rules.jobPods(object, path), rules.table(object, path .. ".template"), path .. ".template")
end

-- cronHealth is that of an AdvancedCronJob. Whether a run succeeds is told by its job.
function rules.cronHealth(object)
  if rules.flag(object, "spec.paused") then
    return rules.suspended("Paused", "no runs are started while spec.paused is true")
  end
  return rules.healthy("Scheduled", "runs are started as scheduled")
end

-- jobVerdict is the type of the condition that says how a job ended, nil while it runs.
function rules.jobVerdict(object)
  for _, condition in ipairs(rules.list(object, "status.conditions")) do
    if condition.status == "True" and (condition.type == "Complete" or condition.type == "Failed") then
      return condition.type, condition
    end
  end
end

-- Flux and its like ---------------------------------------------------------------------------------------

-- retainSuspend keeps what somebody suspended, or resumed, in the member.
function rules.retainSuspend(desired, observed)
  local spec = rules.table(observed, "spec") or rules.fail("spec is required in the observed object")
  local suspend = spec.suspend
  if suspend ~= nil then rules.object(desired, "spec").suspend = suspend end
  return desired
end

-- keepSuspend is retainSuspend for a member whose object may have no spec.
function rules.keepSuspend(desired, observed)
  return rules.table(observed, "spec") and rules.retainSuspend(desired, observed) or desired
end

-- syncedConditions is synced, with the merged conditions.
function rules.syncedConditions(object, items, fields)
  local status = rules.synced(object, items, fields or {})
  status.conditions = rules.mergeConditions(items)
  if #status.conditions == 0 then status.conditions = nil end
  return status
end

-- unseen is behind for an object of Flux. The controllers write which version they have seen on success or when they
-- are stuck, but not while they try again; then the version that the condition Ready is about tells.
local function unseen(object, ready)
  local about = ready and rules.long(ready, "observedGeneration", 0) or 0
  local wanted = rules.long(object, "metadata.generation", 0)
  if about > 0 and about < wanted then
    return rules.progressing("NotObserved", "the controller has not seen the latest change yet")
  end
  if about > 0 and ready.status ~= "True" then return nil end
  return rules.behind(object)
end

-- underway is the health of an object of Flux that is being reconciled, nil if it is not. A retry is no news.
local function underway(object)
  local reconciling = kube.condition(object, "Reconciling")
  if reconciling and reconciling.status == "True" and reconciling.reason ~= "ProgressingWithRetry" then
    return rules.progressing(reconciling.reason, reconciling.message)
  end
end

-- readyFor is the health of an object that is Ready for one of some reasons. While it is suspended nobody looks at its
-- latest version.
function rules.readyFor(object, ...)
  local ready, good = kube.condition(object, "Ready"), false
  local positive = ready ~= nil and ready.status == "True"
  for _, reason in ipairs({ ... }) do good = good or positive and ready.reason == reason end
  if good and kube.get(object, "spec.suspend") == true then
    return rules.suspended("Suspended", "reconciliation is suspended")
  end
  local health = ready and unseen(object, ready)
  if not health and good then health = rules.healthy(ready.reason, ready.message) end
  if not health and not rules.isTrue(object, "Stalled") then health = underway(object) end
  if positive then return health or rules.fromCondition(ready, "Ready") end
  return health or rules.byCondition(object, "Ready", { "DependencyNotReady", "SourceNotReady", "NoSourceArtifact" })
end

-- reconciled is the health of an object of Flux by its Ready condition. It is not bad that it is False for a reason
-- in waiting. Reconciling together with Ready=False is a retry if it says so, and else the first attempt. Nothing is
-- to be waited for while the object is suspended.
function rules.reconciled(object, waiting)
  local stalled = kube.condition(object, "Stalled")
  local health = unseen(object, kube.condition(object, "Ready"))
  if not health and stalled and stalled.status == "True" then
    health = rules.degraded(stalled.reason, stalled.message)
  end
  health = health or underway(object) or rules.byCondition(object, "Ready", waiting)
  if health.status ~= "Degraded" and rules.flag(object, "spec.suspend") then
    return rules.suspended("Suspended", "reconciliation is suspended")
  end
  return health
end

-- foldReconciled is the status of an object of Flux over all members, in the manner of fold.
function rules.foldReconciled(object, items, how)
  how.any = {
    "Reconciling", "Stalled", "FetchFailed", "StorageOperationFailed", "BuildFailed", "IncludeUnavailable",
    "ArtifactOutdated", "Remediated",
  }
  return rules.fold(rules.synced(object, items, {}), items, how)
end

-- sourceOf adds the source that a field refers to, an object of Flux in the namespace of the object unless it says
-- otherwise. The version is the one that such objects have now, unless one is given.
function rules.sourceOf(list, object, path, version)
  local kind = rules.text(object, path .. ".kind", "")
  if kind == "" then return end
  version = rules.text(object, path .. ".apiVersion") or "source.toolkit.fluxcd.io/" .. (version or "v1")
  local namespace = rules.text(object, path .. ".namespace", rules.namespace(object))
  rules.dependency(list, version, kind, namespace, rules.text(object, path .. ".name"))
end

-- What a HelmRelease tells in each version since it has a history.
local release = {
  "helmChart", "storageNamespace", "history", "lastAttemptedRevision", "lastAttemptedConfigDigest",
  "lastAttemptedReleaseAction",
}
local failures = { "failures", "installFailures", "upgradeFailures" }

function rules.reportRelease(object)
  return rules.report(object, rules.extend(rules.extend({ "observedGeneration", "conditions" }, release), failures))
end

-- foldRelease takes the history of the first member; what is counted is the failures of all.
function rules.foldRelease(object, items)
  return rules.foldReconciled(object, items, { firsts = release, longSums = failures })
end

-- releaseDependencies are those of a HelmRelease: its chart, what it takes values from, how it reaches another
-- cluster, and the releases that must be there first.
function rules.releaseDependencies(object, version)
  local list = kube.array()
  rules.sourceOf(list, object, "spec.chart.spec.sourceRef", version)
  rules.sourceOf(list, object, "spec.chartRef", version)
  rules.references(list, object, "Secret", { "spec.chart.spec.verify.secretRef.name", "spec.kubeConfig.secretRef.name" })
  rules.references(list, object, "ConfigMap", { "spec.kubeConfig.configMapRef.name" })
  rules.references(list, object, "ServiceAccount", { "spec.serviceAccountName" })
  for _, values in ipairs(rules.list(object, "spec.valuesFrom")) do
    if values.kind == "Secret" or values.kind == "ConfigMap" then
      rules.reference(list, object, values.kind, rules.text(values, "name"))
    end
  end
  for _, release in ipairs(rules.list(object, "spec.dependsOn")) do
    local namespace = rules.text(release, "namespace", rules.namespace(object))
    rules.dependency(list, object.apiVersion, object.kind, namespace, rules.text(release, "name"))
  end
  return list
end

-- Conditions of several members ---------------------------------------------------------------------------

-- byCluster lists items in the order of their clusters' names.
function rules.byCluster(items)
  local sorted = {}
  for _, item in ipairs(items) do table.insert(sorted, item) end
  table.sort(sorted, function(a, b) return (a.clusterName or "") < (b.clusterName or "") end)
  return sorted
end

-- The higher, the more a condition counts: of those that should hold everywhere the bad news, of those that hold as
-- soon as they hold anywhere the news.
local everywhere = { False = 3, Unknown = 2, True = 1 }
local anywhere = { True = 3, Unknown = 2, False = 1 }

-- foldCondition is the condition of one type over all members, the one that counts most. Who has not reported a
-- condition that should hold everywhere leaves it unknown.
local function foldCondition(items, kind, ranks)
  local found, best, missing, messages = nil, 0, {}, {}
  for _, item in ipairs(items) do
    local condition = kube.condition(item, kind)
    if condition == nil then
      table.insert(missing, item.clusterName or "")
    else
      local rank = ranks[condition.status] or ranks.Unknown
      local message = rules.text(condition, "message", "")
      if rank > best then found, best, messages = condition, rank, {} end
      if rank == best and message ~= "" then table.insert(messages, (item.clusterName or "") .. ": " .. message) end
    end
  end
  if #missing > 0 and ranks == everywhere and best < ranks.Unknown then
    return {
      type = kind, status = "Unknown", reason = "NotReported", lastTransitionTime = found.lastTransitionTime,
      message = "not reported by " .. table.concat(missing, ", "),
    }
  end
  found.message = table.concat(messages, ", ")
  found.observedGeneration = nil -- It is one of the member's.
  return found
end

-- foldConditions has one condition of each type, since many APIs keep them by type. The types in any hold as soon
-- as they hold in one member, all others when they hold in all.
function rules.foldConditions(items, any)
  items = rules.byCluster(items)
  local kinds, ranks, list = {}, {}, kube.array()
  for _, kind in ipairs(any or {}) do ranks[kind] = anywhere end
  for _, condition in ipairs(rules.append(items, "status.conditions")) do
    kinds[rules.text(condition, "type", "")] = true
  end
  for _, kind in ipairs(rules.keys(kinds)) do
    if kind ~= "" then table.insert(list, foldCondition(items, kind, ranks[kind] or everywhere)) end
  end
  return list
end

-- worst is the first text of a list that a member has at a path; empty text in the list stands for a member that has
-- none. Texts that the list lacks come before it.
function rules.worst(items, path, order)
  local ranks, found, best = {}, nil, nil
  for i, text in ipairs(order) do ranks[text] = i end
  for _, item in ipairs(rules.byCluster(items)) do
    local text = rules.text(item, path, "")
    local rank = ranks[text] or text ~= "" and 0
    if rank and (best == nil or rank < best) then found, best = text, rank end
  end
  return found ~= "" and found or nil
end

-- fold sets fields of the status to what the members report, and its conditions. A field that none reports is not
-- there. How lists the fields: sums are added up, and so are longSums, which have 64 bits; firsts are those of the first cluster by name, latest are times;
-- worst are texts with their order; any are the conditions that hold as soon as they hold in one member.
function rules.fold(status, items, how)
  local sorted = rules.byCluster(items)
  for _, field in ipairs(how.firsts or {}) do status[field] = rules.first(sorted, "status." .. field) end
  for _, field in ipairs(how.latest or {}) do status[field] = rules.latest(items, "status." .. field) end
  for bits, fields in pairs({ [32] = how.sums or {}, [64] = how.longSums or {} }) do
    for _, field in ipairs(fields) do
      local path = "status." .. field
      status[field] = rules.first(items, path) ~= nil and rules.total(items, path, bits) or nil
    end
  end
  for field, order in pairs(how.worst or {}) do status[field] = rules.worst(items, "status." .. field, order) end
  local conditions = rules.foldConditions(items, how.any)
  status.conditions = #conditions > 0 and conditions or nil
  return status
end

-- foldEntries makes one entry of those in all members' lists for which key gives the same text. fold makes it of
-- items whose status is the entry, if the member has one.
function rules.foldEntries(items, path, key, fold)
  items = rules.byCluster(items)
  local order, found = {}, {}
  for _, item in ipairs(items) do
    for _, entry in ipairs(rules.list(item, path)) do
      local name = key(entry)
      if found[name] == nil then
        found[name] = {}
        table.insert(order, name)
      end
      found[name][item] = entry
    end
  end
  table.sort(order)
  local folded = kube.array()
  for _, name in ipairs(order) do
    local entries = {}
    for _, item in ipairs(items) do
      table.insert(entries, { clusterName = item.clusterName, status = found[name][item] })
    end
    table.insert(folded, fold(entries))
  end
  return #folded > 0 and folded or nil
end

-- foldQuantities adds up the resource lists at a path, nil if there is none.
function rules.foldQuantities(items, path)
  local total
  for _, item in ipairs(items) do
    for name in pairs(rules.table(item, path) or {}) do
      total = total or kube.object()
      total[name] = kube.resourceAdd(total[name], rules.quantity(item, string.format('%s["%s"]', path, name)))
    end
  end
  return total
end

-- Retention -----------------------------------------------------------------------------------------------

-- retainOpen keeps the member's values of fields that the template leaves open.
function rules.retainOpen(desired, observed, paths)
  for _, path in ipairs(paths) do
    local want, have = kube.get(desired, path), kube.get(observed, path)
    if (want == nil or want == "") and have ~= nil then
      local parent = desired
      for step in string.gmatch(path, "([^.]+)%.") do parent = rules.object(parent, step) end
      parent[string.match(path, "[^.]+$")] = have
    end
  end
  return desired
end

-- retainReplicas keeps the member's number in a field of the spec where the template is labelled as scaled there.
function rules.retainReplicas(desired, observed, field)
  local label = kube.get(desired, 'metadata.labels["resourcetemplate.karmada.io/retain-replicas"]')
  local replicas = rules.int(observed, "spec." .. field)
  if label == "true" and replicas ~= nil then rules.object(desired, "spec")[field] = replicas end
  return desired
end

-- References by the names of fields -----------------------------------------------------------------------

local namesOf = {
  secretName = "Secret", secretRef = "Secret", secretKeyRef = "Secret", appSecretName = "Secret",
  configMapName = "ConfigMap", configMapRef = "ConfigMap", configMapKeyRef = "ConfigMap",
}

-- referencesIn adds the secrets and config maps that a value refers to, at all depths, in the fields that usually do.
function rules.referencesIn(list, object, v)
  if type(v) ~= "table" then return end
  for key, inner in pairs(v) do
    local kind = namesOf[key]
    if kind then
      local name = type(inner) == "table" and inner.name or inner
      if type(name) == "string" then rules.reference(list, object, kind, name) end
    end
    rules.referencesIn(list, object, inner)
  end
end

-- credentials adds what anything below v is let in with: Secrets that are named below fields called secretRef, or
-- something that ends so; ServiceAccounts below serviceAccountRef; and what a caProvider is. They are in a namespace,
-- or in one of their own if mayChoose. Without any namespace there is nothing to add.
function rules.credentials(list, v, namespace, mayChoose, kind)
  if type(v) ~= "table" then return end
  if kind ~= nil and type(v.name) == "string" then
    local chosen = mayChoose and type(v.namespace) == "string" and v.namespace or namespace
    if chosen ~= nil then rules.dependency(list, "v1", kind, chosen, v.name) end
    return
  end
  for key, inner in pairs(v) do
    local below = kind
    if type(key) == "string" then
      if string.match(key, "[sS]ecretRef$") then below = "Secret" end
      if key == "serviceAccountRef" then below = "ServiceAccount" end
      if key == "caProvider" and type(inner) == "table" then
        below = inner.type == "ConfigMap" and "ConfigMap" or "Secret"
      end
    end
    rules.credentials(list, inner, namespace, mayChoose, below)
  end
end

-- storeFields are what the fields of a secret store refer to, where their names do not tell it.
local storeFields = {
  authRef = "Secret", bearerToken = "Secret", clientCert = "Secret", clientKey = "Secret", userRef = "Secret",
  apiKeyRef = "Secret", roleRef = "Secret", serviceAccount = "ServiceAccount", credConfig = "ConfigMap",
}

-- storeCredentials is credentials with what the providers of secret stores have besides: below a field auth, what has
-- a name and a key is one of a Secret.
function rules.storeCredentials(list, v, namespace, mayChoose)
  rules.credentials(list, v, namespace, mayChoose)
  local function below(inner, field, auth)
    if type(inner) ~= "table" or field == "caProvider" then return end
    local kind = auth and (storeFields[field] or type(inner.key) == "string" and "Secret" or nil)
    if kind and type(inner.name) == "string" then
      rules.credentials(list, inner, namespace, mayChoose, kind)
      return
    end
    for key, more in pairs(inner) do below(more, key, auth or key == "auth" or key == "authRef") end
  end
  below(v)
  return list
end

-- pathsIn lists the paths of a field in all entries of a list.
function rules.pathsIn(object, path, field)
  local paths = {}
  for i in ipairs(rules.list(object, path)) do paths[i] = string.format("%s[%d].%s", path, i, field) end
  return paths
end

-- dependency adds an object of any kind to a list. Without a name there is nothing to add.
function rules.dependency(list, apiVersion, kind, namespace, name)
  if name == nil or name == "" then return end
  table.insert(list, { apiVersion = apiVersion, kind = kind, namespace = namespace, name = name })
end

-- withoutClaims is a pod template without the volumes that claim templates of the same names replace.
function rules.withoutClaims(template, claims)
  if template == nil then return nil end
  local made, volumes = {}, kube.array()
  for _, claim in ipairs(claims) do made[rules.text(claim, "metadata.name", "")] = true end
  for _, volume in ipairs(rules.list(template, "spec.volumes")) do
    if not made[volume.name or ""] then table.insert(volumes, volume) end
  end
  if rules.table(template, "spec") then template.spec.volumes = volumes end
  return template
end

-- Cluster API ---------------------------------------------------------------------------------------------

-- clusterAPIReference adds what a field refers to. References of v1beta2 have no version. That of the kubeadm
-- providers, which come with Cluster API, is its own; what other providers serve cannot be known here.
function rules.clusterAPIReference(list, object, path)
  local version, kind = rules.text(object, path .. ".apiVersion", ""), rules.text(object, path .. ".kind", "")
  local group = rules.text(object, path .. ".apiGroup", "")
  if version == "" and group ~= "" and string.sub(kind, 1, 7) == "Kubeadm" then version = group .. "/v1beta2" end
  if version == "" or kind == "" then return end
  local namespace = rules.text(object, path .. ".namespace", rules.namespace(object))
  rules.dependency(list, version, kind, namespace, rules.text(object, path .. ".name"))
end

-- clusterAPIMachine adds what the machine spec at a path needs.
function rules.clusterAPIMachine(list, object, path)
  rules.clusterAPIReference(list, object, path .. ".infrastructureRef")
  rules.clusterAPIReference(list, object, path .. ".bootstrap.configRef")
  if kube.get(object, path .. ".bootstrap.configRef") == nil then
    rules.references(list, object, "Secret", { path .. ".bootstrap.dataSecretName" })
  end
  local cluster = rules.text(object, "spec.clusterName")
  rules.dependency(list, object.apiVersion, "Cluster", rules.namespace(object), cluster)
  return list
end

-- clusterAPICondition is the condition of a type, whichever of the two sets it is in while versions overlap.
function rules.clusterAPICondition(object, kind)
  return kube.condition(object, kind) or kube.condition({ status = rules.table(object, "status.v1beta2") }, kind)
end

-- clusterAPIHealth is the health that is not good, nil if nothing of it applies: the object is paused, not observed,
-- has failed or is going.
function rules.clusterAPIHealth(object)
  local annotation = kube.get(object, 'metadata.annotations["cluster.x-k8s.io/paused"]')
  local paused = rules.clusterAPICondition(object, "Paused")
  local generation = rules.long(object, "metadata.generation", 0)
  local current = paused and rules.long(paused, "observedGeneration", generation) >= generation
  if annotation ~= nil or rules.flag(object, "spec.paused") or current and paused.status == "True" then
    return rules.suspended("Paused", "reconciliation is paused")
  end
  local notObserved = rules.notObserved(object)
  if notObserved then return notObserved end
  local phase = rules.text(object, "status.phase", "")
  if phase == "Failed" then
    return rules.degraded(phase, rules.text(object, "status.failureMessage")
      or rules.text(object, "status.deprecated.v1beta1.failureMessage", ""))
  end
  if phase == "Deleting" or phase == "Deleted" then return rules.progressing(phase, "the object is being deleted") end
end

-- clusterAPIReport is report, with what all kinds of Cluster API have.
function rules.clusterAPIReport(object, fields)
  for _, field in ipairs({
    "phase", "conditions", "observedGeneration", "failureReason", "failureMessage", "deprecated", "v1beta2",
  }) do
    table.insert(fields, field)
  end
  return rules.report(object, fields)
end

-- clusterAPIFold is the status over all members, in the manner of fold.
function rules.clusterAPIFold(object, items, how)
  local status = rules.synced(object, items, {})
  how.any = { "Deleting", "Paused", "Remediating", "RollingOut", "ScalingUp", "ScalingDown" }
  how.firsts = how.firsts or {}
  for _, field in ipairs({ "failureReason", "failureMessage", "deprecated", "v1beta2" }) do
    table.insert(how.firsts, field)
  end
  return rules.fold(status, items, how)
end

-- clusterAPIReady is the health by the first of some conditions that is there. What the older conditions say is only
-- an error where they call it one.
function rules.clusterAPIReady(object, kinds)
  for _, kind in ipairs(kinds) do
    local condition = rules.clusterAPICondition(object, kind)
    if condition then
      local reason, message = rules.text(condition, "reason", ""), rules.text(condition, "message", "")
      if reason == "" then reason = kind end
      if condition.status == "True" then return rules.healthy(reason, message) end
      local severity = rules.text(condition, "severity", "Error")
      local bad = condition.status == "False" and (severity == "Error" or severity == "")
      return (bad and rules.degraded or rules.progressing)(reason, message)
    end
  end
  return rules.progressing("NotReported", "there is no condition %s yet", kinds[1])
end

-- Knative -------------------------------------------------------------------------------------------------

-- knativeScale is a number that an annotation gives, in the current or the older spelling.
local function knativeScale(object, annotations, name, default)
  local text
  for _, spelling in ipairs({ "-scale", "Scale" }) do
    local path = string.format('%s["autoscaling.knative.dev/%s%s"]', annotations, name, spelling)
    text = text or rules.text(object, path)
  end
  return math.floor(rules.number(text, default))
end

-- knativeComponents is GetComponents of a pod template with its annotations at a path. Before the autoscaler knows
-- better there are as many pods as the initial and the minimum scale say.
function rules.knativeComponents(object, annotations, template)
  local initial, least = knativeScale(object, annotations, "initial", 1), knativeScale(object, annotations, "min", 0)
  return rules.onlyComponent(math.max(initial, least), template)
end

-- KEDA ----------------------------------------------------------------------------------------------------

-- kedaAuthentications adds what the triggers of a scaler authenticate with.
function rules.kedaAuthentications(list, object)
  for _, trigger in ipairs(rules.list(object, "spec.triggers")) do
    local kind = rules.text(trigger, "authenticationRef.kind", "TriggerAuthentication")
    local namespace = kind == "TriggerAuthentication" and rules.namespace(object) or nil
    rules.dependency(list, object.apiVersion, kind, namespace, rules.text(trigger, "authenticationRef.name"))
  end
  return list
end

-- KServe --------------------------------------------------------------------------------------------------

-- What serves a model is a container of its own, under the name of its framework.
rules.kserveFrameworks = {
  "model", "sklearn", "xgboost", "tensorflow", "pytorch", "triton", "onnx", "huggingface", "pmml", "lightgbm",
  "paddle", "catboost", "openvino", "art", "alibi",
}

rules.kserveParts = { "predictor", "transformer", "explainer" }

-- kserveTemplate is the template of the pods for the part at a path.
function rules.kserveTemplate(object, path)
  local spec = kube.object()
  for field, v in pairs(rules.table(object, path) or {}) do spec[field] = v end
  local containers = rules.list(object, path .. ".containers")
  for _, framework in ipairs(rules.kserveFrameworks) do
    local container = rules.table(object, path .. "." .. framework)
    spec[framework] = nil
    if container then
      table.insert(containers, {
        name = framework, resources = container.resources, env = container.env, envFrom = container.envFrom,
      })
    end
  end
  spec.containers = containers
  return { spec = spec }
end

-- Elastic -------------------------------------------------------------------------------------------------

-- elasticTemplate is the pod template at a path with the main container, which the operator adds if need be, and
-- gives memory if it has no resources of its own.
function rules.elasticTemplate(object, path, name, memory)
  local spec, main = kube.object(), nil
  local containers = rules.list(object, path .. ".spec.containers")
  for _, container in ipairs(containers) do
    if container.name == name then main = container end
  end
  if main == nil then
    main = { name = name }
    table.insert(containers, main)
  end
  local resources = rules.table(main, "resources") or {}
  if resources.requests == nil and resources.limits == nil then main.resources = { requests = { memory = memory } } end
  for field, v in pairs(rules.table(object, path .. ".spec") or {}) do spec[field] = v end
  spec.containers = containers
  return { spec = spec }
end

-- CloudNativePG -------------------------------------------------------------------------------------------

-- postgresTemplate is the template of the pods that the operator makes, as far as the spec tells what it is.
function rules.postgresTemplate(object)
  local affinity = rules.table(object, "spec.affinity") or {}
  return { spec = {
    containers = { { name = "postgres", resources = rules.table(object, "spec.resources") } },
    nodeSelector = affinity.nodeSelector, tolerations = affinity.tolerations,
    affinity = { nodeAffinity = affinity.nodeAffinity },
    priorityClassName = kube.get(object, "spec.priorityClassName"),
  } }
end

-- Argo ----------------------------------------------------------------------------------------------------

-- workflowTemplate is what the pods of a workflow have in common: where they may run. They are made from its templates
-- one after the other.
function rules.workflowTemplate(object)
  local spec = rules.table(object, "spec") or {}
  return { spec = { affinity = spec.affinity, nodeSelector = spec.nodeSelector, tolerations = spec.tolerations } }
end

-- KubeVirt ------------------------------------------------------------------------------------------------

-- machineTemplate is the template of the pod for the machine whose spec is at a path, as far as that says: memory as
-- the guest has it, and of each virtual processor a tenth, since that is what the operator asks for by default.
-- What the hypervisor needs for itself depends on the operator's version and is left out.
function rules.machineTemplate(object, path)
  local spec, domain = rules.table(object, path) or {}, path .. ".domain"
  local requests, limits = kube.object(), rules.table(object, domain .. ".resources.limits") or {}
  for name, v in pairs(rules.table(object, domain .. ".resources.requests") or {}) do requests[name] = v end
  local guest = rules.text(object, domain .. ".memory.guest")
  if requests.memory == nil and limits.memory == nil then requests.memory = guest end
  local page = rules.text(object, domain .. ".memory.hugepages.pageSize")
  if page then requests["hugepages-" .. page], requests.memory = guest or requests.memory, nil end
  if requests.cpu == nil and limits.cpu == nil then
    local processors = 1
    for _, field in ipairs({ "sockets", "cores", "threads" }) do
      processors = processors * rules.int(object, domain .. ".cpu." .. field, 1)
    end
    local dedicated = rules.flag(object, domain .. ".cpu.dedicatedCpuPlacement")
    requests.cpu = processors * (dedicated and 1000 or 100) .. "m"
  end
  for _, field in ipairs({ "gpus", "hostDevices" }) do
    for _, device in ipairs(rules.list(object, domain .. ".devices." .. field)) do
      local name = rules.text(device, "deviceName", "")
      if name ~= "" then requests[name] = (rules.number(requests[name]) or 0) + 1 end
    end
  end
  return { spec = {
    containers = { { name = "compute", resources = { requests = requests, limits = limits } } },
    nodeSelector = spec.nodeSelector, affinity = spec.affinity, tolerations = spec.tolerations,
    priorityClassName = spec.priorityClassName,
  } }
end

local machineReferences = {
  PersistentVolumeClaim = {
    "persistentVolumeClaim.claimName", "ephemeral.persistentVolumeClaim.claimName", "memoryDump.claimName",
  },
  ConfigMap = { "configMap.name", "sysprep.configMap.name" },
  Secret = {
    "secret.secretName", "sysprep.secret.name", "containerDisk.imagePullSecret", "cloudInitNoCloud.secretRef.name",
    "cloudInitNoCloud.networkDataSecretRef.name", "cloudInitConfigDrive.secretRef.name",
    "cloudInitConfigDrive.networkDataSecretRef.name",
  },
  ServiceAccount = { "serviceAccount.serviceAccountName" },
}

-- machineDependencies are those of the machine whose spec is at a path. The data volumes in made come with it.
function rules.machineDependencies(object, path, made)
  local list, namespace = kube.array(), rules.namespace(object)
  for _, volume in ipairs(rules.list(object, path .. ".volumes")) do
    for kind, fields in pairs(machineReferences) do
      for _, field in ipairs(fields) do rules.reference(list, object, kind, rules.text(volume, field)) end
    end
    local name = rules.text(volume, "dataVolume.name", "")
    if not made[name] then rules.dependency(list, "cdi.kubevirt.io/v1beta1", "DataVolume", namespace, name) end
  end
  rules.referencesIn(list, object, rules.table(object, path .. ".accessCredentials"))
  rules.references(list, object, "Secret", { path .. ".domain.firmware.kernelBoot.container.imagePullSecret" })
  for _, network in ipairs(rules.list(object, path .. ".networks")) do
    local name = rules.text(network, "multus.networkName", "")
    local there, plain = string.match(name, "^(.-)/(.*)$")
    rules.dependency(list, "k8s.cni.cncf.io/v1", "NetworkAttachmentDefinition", there or namespace, plain or name)
  end
  return list
end

-- LeaderWorkerSet -----------------------------------------------------------------------------------------

-- leaderPath is where the template of the leaders is. Without one of their own they are made from that of the workers.
function rules.leaderPath(object)
  local path = "spec.leaderWorkerTemplate.leaderTemplate"
  return rules.table(object, path) and path or "spec.leaderWorkerTemplate.workerTemplate"
end

-- Strimzi -------------------------------------------------------------------------------------------------

-- strimziHealth is that of an object that is Ready, or else has a condition NotReady.
function rules.strimziHealth(object)
  local paused = kube.condition(object, "ReconciliationPaused")
  if paused and paused.status == "True" then return rules.suspended("Paused", "reconciliation is paused") end
  local notObserved = rules.notObserved(object)
  if notObserved then return notObserved end
  local notReady = kube.condition(object, "NotReady")
  if notReady and notReady.status == "True" then
    local health = rules.text(notReady, "reason") == "Creating" and rules.progressing or rules.degraded
    return health(notReady.reason, notReady.message)
  end
  return rules.byCondition(object, "Ready")
end

-- cert-manager --------------------------------------------------------------------------------------------

-- issuerOf adds the issuer that an object asks. Those of other projects have versions that cannot be known here.
function rules.issuerOf(list, object)
  local kind = rules.text(object, "spec.issuerRef.kind", "Issuer")
  if rules.text(object, "spec.issuerRef.group", "cert-manager.io") ~= "cert-manager.io" then return list end
  local namespace = kind ~= "ClusterIssuer" and rules.namespace(object) or nil
  rules.dependency(list, "cert-manager.io/v1", kind, namespace, rules.text(object, "spec.issuerRef.name"))
  return list
end

-- issuerDependencies are the secrets and service accounts of an issuer, which are in a namespace.
function rules.issuerDependencies(object, namespace)
  local list, spec = kube.array(), rules.table(object, "spec") or {}
  for _, path in ipairs({
    "ca.secretName", "vault.auth.clientCertificate.secretName", "venafi.tpp.credentialsRef.name",
  }) do
    rules.dependency(list, "v1", "Secret", namespace, rules.text(spec, path))
  end
  for key, v in pairs(spec) do
    if key == "acme" and type(v) == "table" then
      -- The key of the account is made where there is none, unless that is forbidden.
      for field, inner in pairs(v) do
        if field ~= "privateKeySecretRef" or v.disableAccountKeyGeneration == true then
          rules.credentials(list, { [field] = inner }, namespace)
        end
      end
    else
      rules.credentials(list, v, namespace)
    end
  end
  return list
end

-- Prometheus operator -------------------------------------------------------------------------------------

-- monitoringPods is the template of the pods that the operator makes: the main container, whose resources are those
-- of the spec, and what the spec adds to it.
function rules.monitoringPods(object, name)
  local spec = rules.table(object, "spec") or {}
  local containers, main = kube.array(), { name = name, resources = spec.resources }
  table.insert(containers, main)
  for _, container in ipairs(rules.list(object, "spec.containers")) do
    if container.name == name then
      for field, v in pairs(container) do main[field] = v end
    else
      table.insert(containers, container)
    end
  end
  return { spec = {
    containers = containers, initContainers = spec.initContainers, volumes = spec.volumes,
    imagePullSecrets = spec.imagePullSecrets, serviceAccountName = spec.serviceAccountName,
    nodeSelector = spec.nodeSelector, tolerations = spec.tolerations, affinity = spec.affinity,
    priorityClassName = spec.priorityClassName,
  } }
end

-- monitoringDependencies are what the pods need, and the keys that anything else in the spec selects.
function rules.monitoringDependencies(object, name)
  local list = rules.podDependencies(object, rules.monitoringPods(object, name), "spec")
  local pods = { containers = true, initContainers = true, volumes = true }
  for field, v in pairs(rules.table(object, "spec") or {}) do
    if not pods[field] then rules.selected(list, object, v, field) end
  end
  for field, kind in pairs({ secrets = "Secret", configMaps = "ConfigMap" }) do
    for i in ipairs(rules.table(object, "spec." .. field) or {}) do
      rules.references(list, object, kind, { string.format("spec.%s[%d]", field, i) })
    end
  end
  return list
end

function rules.monitoringReport(object)
  return rules.report(object, {
    "paused", "replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas", "shards", "selector", "conditions",
  })
end

function rules.monitoringFold(object, items)
  rules.table(object, "status")
  local status = rules.object(object, "status")
  rules.sum(status, items, { "replicas", "updatedReplicas", "availableReplicas", "unavailableReplicas" })
  status.paused = false
  for _, item in ipairs(items) do
    if rules.flag(item, "status.paused") then status.paused = true end
  end
  rules.fold(status, items, { firsts = { "shards", "selector" } })
  return object
end

-- monitoringHealth knows a fourth value of a condition: Available is Degraded while only some pods are, such as in a
-- rolling update. That no pod is available is an error of what had been: both conditions are set for the first time
-- when the object has been reconciled, and Available changes later only if it was better in between.
function rules.monitoringHealth(object)
  if rules.flag(object, "spec.paused") then return rules.suspended("Paused", "reconciliation is paused") end
  local behind = rules.behind(object)
  if behind then return behind end
  local reconciled, available = kube.condition(object, "Reconciled"), kube.condition(object, "Available")
  if reconciled and reconciled.status == "False" then return rules.byCondition(object, "Reconciled") end
  local made = reconciled and reconciled.status == "True"
  local since, lost = rules.text(reconciled or {}, "lastTransitionTime"), rules.text(available or {}, "lastTransitionTime")
  if made and since and lost then made = lost > since end
  return rules.byCondition(object, "Available", not made and { "NoPodReady" } or nil)
end

-- Crossplane ----------------------------------------------------------------------------------------------

-- retainInitialized keeps what the provider filled in where the template leaves it open: fields of forProvider, unless
-- the policies forbid that, and the name that the resource has outside.
function rules.retainInitialized(desired, observed)
  local annotations = rules.table(observed, "metadata.annotations") or {}
  for _, key in ipairs({
    "crossplane.io/external-name", "crossplane.io/external-create-pending", "crossplane.io/external-create-succeeded",
    "crossplane.io/external-create-failed",
  }) do
    if annotations[key] ~= nil and kube.get(desired, string.format('metadata.annotations["%s"]', key)) == nil then
      rules.object(rules.object(desired, "metadata"), "annotations")[key] = annotations[key]
    end
  end
  local policies = rules.table(desired, "spec.managementPolicies")
  local allowed = policies == nil
  for _, policy in ipairs(policies or {}) do
    if policy == "*" or policy == "LateInitialize" then allowed = true end
  end
  local want, have = rules.table(desired, "spec.forProvider"), rules.table(observed, "spec.forProvider")
  if allowed and want and have then rules.fill(want, have) end
  return desired
end

-- fill takes what one object has and another lacks, at all depths. Lists are taken whole, or not at all.
function rules.fill(want, have)
  for key, v in pairs(have) do
    if want[key] == nil then
      want[key] = v
    elseif type(v) == "table" and type(want[key]) == "table" and #v == 0 and #want[key] == 0 then
      rules.fill(want[key], v)
    end
  end
end

-- providerHealth is the health of a managed resource, or of anything else that Crossplane and its providers define.
-- Some of that, such as the configuration of a provider, has no conditions and needs none.
function rules.providerHealth(object)
  local synced, paused = kube.condition(object, "Synced"), 'metadata.annotations["crossplane.io/paused"]'
  if kube.get(object, paused) == "true" or synced and synced.reason == "ReconcilePaused" then
    return rules.suspended("ReconcilePaused", "reconciliation is paused")
  end
  local needed, healths = {}, {}
  if rules.table(object, "spec.forProvider") then needed = { "Synced", "Ready" } end
  if kube.get(object, "spec.package") ~= nil then needed = { "Installed", "Healthy" } end
  if object.kind == "CompositeResourceDefinition" then needed = { "Established" } end
  for _, kind in ipairs({
    "Synced", "LastAsyncOperation", "Ready", "Installed", "Healthy", "Established", "Offered",
  }) do
    if kube.condition(object, kind) then table.insert(needed, kind) end
  end
  for _, kind in ipairs(needed) do
    table.insert(healths, rules.byCondition(object, kind, {
      "Creating", "Deleting", "UnpackingPackage", "InactivePackageRevision",
    }))
  end
  return rules.worstHealth(healths) or rules.healthy("NoConditions", "nothing is reported, and nothing is expected")
end

-- providerDependencies are the secrets in what is configured.
function rules.providerDependencies(object)
  local list = kube.array()
  for _, path in ipairs({ "spec.forProvider", "spec.credentials" }) do
    rules.credentials(list, rules.table(object, path), rules.namespace(object), true)
  end
  return list
end

-- whole is report of all fields.
function rules.whole(object)
  return rules.report(object, rules.keys(rules.table(object, "status") or {}))
end

-- numericGenerations turns the generations that members have observed into numbers; some APIs have them as text.
function rules.numericGenerations(items)
  for _, item in ipairs(items) do
    if rules.table(item, "status") then
      item.status.observedGeneration = rules.number(item.status.observedGeneration)
    end
  end
end

-- Istio ---------------------------------------------------------------------------------------------------

-- serviceOf adds the Service that a host stands for, in the way in which Istio reads it. Other hosts are outside, or
-- defined by a ServiceEntry.
function rules.serviceOf(list, object, host)
  if host == nil or string.find(host, "*", 1, true) then return end
  local name, namespace = string.match(host, "^([^.]+)%.([^.]+)%.svc$")
  if name == nil then name, namespace = string.match(host, "^([^.]+)%.([^.]+)%.svc%.") end
  if name == nil and not string.find(host, ".", 1, true) then name, namespace = host, rules.namespace(object) end
  rules.dependency(list, "v1", "Service", namespace, name)
end

-- Health --------------------------------------------------------------------------------------------------

local function verdict(status)
  return function(reason, message, ...)
    if select("#", ...) > 0 then message = string.format(message, ...) end
    return { status = status, reason = reason, message = message }
  end
end

-- Each makes a health of a reason and, formatted, a message. Healthy and suspended are true for Karmada.
rules.healthy = verdict("Healthy")
rules.progressing = verdict("Progressing")
rules.degraded = verdict("Degraded")
rules.suspended = verdict("Suspended")
rules.unknown = verdict("Unknown")

-- notObserved is the health of an object whose controller has not seen this version of it; nil if it has.
function rules.notObserved(object)
  if rules.table(object, "status") == nil then
    return rules.progressing("NotReported", "there is no status yet")
  end
  if kube.get(object, "status.observedGeneration") ~= kube.get(object, "metadata.generation") then
    return rules.progressing("NotObserved", "the controller has not seen the latest change yet")
  end
end

-- behind is notObserved for what need not say which version its controller has seen.
function rules.behind(object)
  if rules.table(object, "status") == nil then
    return rules.progressing("NotReported", "there is no status yet")
  end
  local seen = rules.number(kube.get(object, "status.observedGeneration"))
  if seen ~= nil and seen < rules.long(object, "metadata.generation", 0) then
    return rules.progressing("NotObserved", "the controller has not seen the latest change yet")
  end
end

-- worstHealth is the first of the healths that is the furthest from Healthy; nil if there is none.
function rules.worstHealth(healths)
  local order = { Healthy = 1, Suspended = 2, Unknown = 3, Progressing = 4, Degraded = 5 }
  local worst
  for _, health in ipairs(healths) do
    if worst == nil or order[health.status] > order[worst.status] then worst = health end
  end
  return worst
end

-- rollout is the health by three numbers: what is wanted, what of it is updated, what of that is available.
-- Without a wanted number any will do; a missing other one has not been reported.
function rules.rollout(wanted, updated, available)
  if updated == nil or available == nil then
    return rules.progressing("NotReported", "the counters are not all reported yet")
  end
  if wanted ~= nil and updated < wanted then
    return rules.progressing("Updating", "%d of %d replicas are updated", updated, wanted)
  end
  if available < updated then
    return rules.progressing("Unavailable", "%d of %d updated replicas are available", available, updated)
  end
  return rules.healthy("Available", "%d replicas are available", available)
end

-- fromCondition makes a health that is not good of a condition: False is degraded, Unknown is progressing.
function rules.fromCondition(condition, kind)
  if condition == nil then
    return rules.progressing("NotReported", "there is no condition " .. kind .. " yet")
  end
  local health = condition.status == "False" and rules.degraded or rules.progressing
  return health(condition.reason, condition.message)
end

-- byCondition is the health by one condition: True is healthy, False degraded unless it is for one of the reasons
-- in waiting, anything else progressing. A condition that is about an older generation says nothing about this one.
function rules.byCondition(object, kind, waiting)
  local condition = kube.condition(object, kind)
  if condition == nil then return rules.fromCondition(condition, kind) end
  local seen = rules.long(condition, "observedGeneration", 0)
  if seen > 0 and seen < rules.long(object, "metadata.generation", 0) then
    return rules.progressing("NotObserved", "the controller has not seen the latest change yet")
  end
  local reason = rules.text(condition, "reason", "")
  for _, passing in ipairs(condition.status == "False" and waiting or {}) do
    if reason == passing then return rules.progressing(reason, condition.message) end
  end
  if condition.status ~= "True" then return rules.fromCondition(condition, kind) end
  return rules.healthy(reason ~= "" and reason or kind, condition.message)
end

return rules

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

local function wrong(path, want, got)
  rules.fail("%s must be %s, got %s", path, want, type(got) == "string" and string.format("%q", got) or tostring(got))
end

-- text is the text at a path, or the default.
function rules.text(object, path, default)
  local v = kube.get(object, path, default)
  if v ~= nil and type(v) ~= "string" then wrong(path, "text", v) end
  return v
end

-- int is the whole number at a path, or the default.
function rules.int(object, path, default)
  local v = kube.get(object, path, default)
  if v ~= nil and (type(v) ~= "number" or v % 1 ~= 0) then wrong(path, "a whole number", v) end
  return v
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
      if type(v) ~= "table" then wrong(string.format("%s[%d]", path, i - 1), "an object", v) end
      table.insert(list, v)
    end
  end
  return list
end

-- required is the object or list at a path that must be there.
function rules.required(object, path)
  return rules.table(object, path) or rules.fail("%s is required", path)
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

-- requirements are those of a pod template in the namespace of the object. They are never nil: that a replica
-- runs in the namespace is known even where it needs nothing.
function rules.requirements(object, template)
  local requirements = template and kube.accuratePodRequirements(template) or kube.object()
  requirements.namespace = kube.get(object, "metadata.namespace")
  return requirements
end

-- scaled is GetReplicas of what has spec.replicas and a pod template.
function rules.scaled(object, template)
  local replicas = rules.int(object, "spec.replicas") or rules.fail("spec.replicas is required")
  return replicas, rules.requirements(object, template)
end

-- revise is ReviseReplica of a field of the spec, which is made if it is not there.
function rules.revise(object, field, replicas)
  rules.int(object, "spec." .. field)
  rules.required(object, "spec")[field] = replicas
  return object
end

-- componentRequirements are those of a component, nil where it needs nothing.
function rules.componentRequirements(template)
  return template and kube.accuratePodRequirements(template)
end

-- quantity is a quantity as text; some kinds have numbers in the place of one.
function rules.quantity(v)
  return type(v) == "number" and tostring(v) or v
end

-- javaUnits are sizes as the JVM's projects write them, in any letter case: 2g is 2 GiB.
local javaUnits = {
  [""] = "", b = "", bytes = "", k = "Ki", kb = "Ki", m = "Mi", mb = "Mi", g = "Gi", gb = "Gi", t = "Ti", tb = "Ti",
  p = "Pi", pb = "Pi",
}

-- javaSize turns such a size into a quantity. A bare number is in the given unit, bytes if none is given. What is
-- written as a quantity with a binary unit stays one.
function rules.javaSize(v, bare)
  local number, unit = string.match(rules.quantity(v), "^%s*(%d+%.?%d*)%s*(%a*)%s*$")
  if number == nil then return v end
  if unit == "" then return number .. (bare or "") end
  return number .. (javaUnits[string.lower(unit)] or unit)
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

-- podDependencies are those of a pod template, none without one.
function rules.podDependencies(object, template)
  if template == nil then return kube.array() end
  return kube.getPodDependencies(template, kube.get(object, "metadata.namespace", ""))
end

-- reference adds a core object in the namespace of the object to a list. Without a name there is nothing to add.
function rules.reference(list, object, kind, name)
  if name == nil or name == "" then return end
  table.insert(list, { apiVersion = "v1", kind = kind, namespace = kube.get(object, "metadata.namespace"), name = name })
end

-- references adds the objects of one core kind that are named at paths.
function rules.references(list, object, kind, paths)
  for _, path in ipairs(paths) do
    rules.reference(list, object, kind, rules.text(object, path))
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
  local wanted = rules.int(object, "metadata.generation", 0)
  for _, item in ipairs(items) do
    local seen = rules.int(item, "status.resourceTemplateGeneration", 0) >= wanted
    local done = rules.int(item, "status.observedGeneration", 0) >= rules.int(item, "status.generation", 0)
    if item.status == nil or not seen or not done then
      return rules.int(object, "status.observedGeneration", 0)
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

-- total is the sum of a number over all items.
function rules.total(items, path)
  local sum = 0
  for _, item in ipairs(items) do sum = sum + rules.int(item, path, 0) end
  return sum
end

-- totalQuantity is the sum of a quantity over all items.
function rules.totalQuantity(items, path)
  local sum = "0"
  for _, item in ipairs(items) do sum = kube.resourceAdd(sum, rules.quantity(kube.get(item, path))) end
  return sum
end

-- sum sets fields of the status to the sums of what the members report.
function rules.sum(status, items, fields)
  for _, field in ipairs(fields) do status[field] = rules.total(items, "status." .. field) end
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

-- roleComponents are the parts of a job that has some roles, each with replicas and a template.
function rules.roleComponents(roles, names)
  local components = kube.array()
  for _, name in ipairs(names) do
    local role = rules.table(roles, name)
    if role then
      table.insert(components, {
        name = string.lower(name),
        replicas = rules.number(role.replicas, 1),
        replicaRequirements = rules.componentRequirements(rules.table(role, "template")),
      })
    end
  end
  return components
end

-- templateDependencies are those of several pod templates together.
function rules.templateDependencies(object, templates)
  local list = kube.array()
  for _, template in ipairs(templates) do
    for _, reference in ipairs(rules.podDependencies(object, template)) do table.insert(list, reference) end
  end
  return list
end

-- roleDependencies are those of the templates of some roles.
function rules.roleDependencies(object, roles, names)
  local templates = {}
  for _, name in ipairs(names) do table.insert(templates, rules.table(roles, name .. ".template")) end
  return rules.templateDependencies(object, templates)
end

-- roleTotals adds up how many pods of each role are active, failed and succeeded.
function rules.roleTotals(items)
  local totals = kube.object()
  for _, item in ipairs(items) do
    for name, counts in pairs(rules.table(item, "status.replicaStatuses") or {}) do
      local total = rules.object(totals, name)
      for _, field in ipairs({ "active", "failed", "succeeded" }) do
        total[field] = (total[field] or 0) + rules.int(counts, field, 0)
      end
    end
  end
  return totals
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

-- Ray -----------------------------------------------------------------------------------------------------

-- rayPods is how many pods a worker group of a cluster has. A suspended one has none.
function rules.rayPods(cluster, group)
  if cluster.suspend == true or group.suspend == true then return 0 end
  return rules.int(group, "replicas", 0) * rules.int(group, "numOfHosts", 1)
end

-- rayComponents are the head and the worker groups of a cluster.
function rules.rayComponents(cluster)
  local components = kube.array()
  if cluster == nil then return components end
  local head = rules.table(cluster, "headGroupSpec.template")
  if head then
    table.insert(components, {
      name = "ray-head",
      replicas = cluster.suspend == true and 0 or 1,
      replicaRequirements = rules.componentRequirements(head),
    })
  end
  for i, group in ipairs(rules.list(cluster, "workerGroupSpecs")) do
    local name = rules.text(group, "groupName", "")
    table.insert(components, {
      name = name ~= "" and name or "worker-" .. i,
      replicas = rules.rayPods(cluster, group),
      replicaRequirements = rules.componentRequirements(rules.table(group, "template")),
    })
  end
  return components
end

-- rayTemplates lists the pod templates of a cluster, and one more.
function rules.rayTemplates(cluster, more)
  local templates = { rules.table(cluster, "headGroupSpec.template") }
  for _, group in ipairs(rules.list(cluster, "workerGroupSpecs")) do
    table.insert(templates, rules.table(group, "template"))
  end
  table.insert(templates, more)
  return templates
end

-- Flux and its like ---------------------------------------------------------------------------------------

-- retainSuspend keeps what somebody suspended, or resumed, in the member.
function rules.retainSuspend(desired, observed)
  local suspend = rules.required(observed, "spec").suspend
  if suspend ~= nil then rules.object(desired, "spec").suspend = suspend end
  return desired
end

-- syncedConditions is synced, with the merged conditions.
function rules.syncedConditions(object, items, fields)
  local status = rules.synced(object, items, fields or {})
  status.conditions = rules.mergeConditions(items)
  if #status.conditions == 0 then status.conditions = nil end
  return status
end

-- readyFor is the health of an object that is Ready for one of some reasons.
function rules.readyFor(object, ...)
  local ready = kube.condition(object, "Ready")
  if ready and ready.status == "True" then
    for _, reason in ipairs({ ... }) do
      if ready.reason == reason then
        if kube.get(object, "spec.suspend") == true then
          return rules.suspended("Suspended", "reconciliation is suspended")
        end
        return rules.healthy(reason, ready.message)
      end
    end
  end
  if rules.isTrue(object, "Reconciling") and not rules.isTrue(object, "Stalled") then
    local reconciling = kube.condition(object, "Reconciling")
    return rules.progressing(reconciling.reason, reconciling.message)
  end
  return rules.fromCondition(ready, "Ready")
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

return rules

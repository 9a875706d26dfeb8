// Package kinds knows which kinds there are, and finds them by whatever name people use: deploy, Deployment,
// deployments.v1.apps, or the category all.
//
// # Where it is known from
//
// [Standard] are the kinds that a freshly installed API server serves, as it told them when it was asked; [Definitions]
// are those of CRDs; [Discovery] asks a server. [New] puts sources together. What an earlier source says of a
// resource, a later one does not change.
//
// # Priority
//
// Where a name fits several resources, they come in this order. The core group is first; then groups as their source
// lists them, which is a server's own order, while those of CRDs follow by name, as a server has it. Within a group
// its preferred version is first; then stable versions before beta and alpha ones, newer before older.
//
// Between groups that come with Kubernetes, and between them and others, that order decides, as it does for kubectl.
// Between two other groups it would be the alphabet that decides. That is no reason, so it is an error that names
// the candidates.
//
// # Why not client-go's mappers as they are?
//
// The names are matched by apimachinery's DefaultRESTMapper, and a server is read by client-go's restmapper package;
// a test compares the outcome with its discovery mapper and shortcut expander. Some of it had to be other than there.
// A short name keeps the version that it was given with, which the expander drops, and means the same every time,
// where several groups have it; the expander takes any of them since it reads them from a map. A group that is named
// in full is never taken for the beginning of another. And an exact kind is found without an allocation, which a
// controller can afford for every object.
//
// # What is not known
//
// Offline, a kind may well exist that no source tells of. [Kinds.CheckDependencies] therefore says of each problem
// whether it is certain.
package kinds

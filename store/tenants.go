package store

// ClusterTenant owns the records that the hosts of a service share: their state, and the configuration that
// they follow. No user can be this tenant: configurations and files of keys refuse the name.
const ClusterTenant = "#cluster"

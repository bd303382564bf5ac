// The settings of the servers that are measured: any free ports, no metrics, a log of warnings
// only.
export const serverSettings = {
  EXITWARD_LISTEN: '127.0.0.1:0',
  EXITWARD_ADMIN_LISTEN: '127.0.0.1:0',
  EXITWARD_METRICS_LISTEN: 'off',
  EXITWARD_LOG_LEVEL: 'warn',
  EXITWARD_MAX_AUTHLIST_ENTRIES: '100000000',
};

// The exports of @exitward/client.
export { Exitward } from './client.ts';
export * from './errors.ts';
export type * from './openapi.ts';
export type * from './options.ts';
export { type ProxyServer, type ProxyUrlOptions, proxyUrl } from './proxy_url.ts';
export { etagOf, type Listing } from './records.ts';
export type { Detail } from './servers.ts';
export type { ExitwardOptions } from './settings.ts';

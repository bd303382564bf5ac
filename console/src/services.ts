// The services of servers in words.

/** By the API's name. */
export const serviceNames = {
  proxy: 'HTTP proxy',
  'proxy-https': 'HTTPS proxy (over TLS)',
  'vpn-ikev2': 'IKEv2 VPN',
  'vpn-ikev1': 'IKEv1 VPN',
  'vpn-l2tp': 'L2TP VPN',
} as const;

/** In a filter. */
export const serviceFilters = { ...serviceNames, vpn: 'VPN of any kind' } as const;

const names: Record<string, string> = serviceNames;

/** The name of one; of a later version of the API, as it is. */
export const serviceName = (service: string) => names[service] ?? service;

/** Names in the limits of a user, where "proxy" includes the one over TLS. */
export const serviceOfUser = (service: string) =>
  service === 'proxy' ? 'HTTP and HTTPS proxy' : serviceName(service);

/** "HTTP proxy, IKEv2 VPN". */
export const servicesText = (services: readonly string[]) => services.map(serviceName).join(', ');

/** The same for a column: "HTTP, HTTPS, VPN". A server's page has the kinds of VPN. */
export function shortServices(services: readonly string[]): string {
  const short = services.map((service) =>
    service.startsWith('vpn') ? 'VPN' : serviceName(service).replace(/ proxy.*/, ''),
  );
  return [...new Set(short)].join(', ');
}

// The services of servers in words.
import { expect, test } from 'vitest';
import { servicesText, shortServices } from '../src/services.ts';

const services = ['proxy', 'proxy-https', 'vpn-ikev2', 'vpn-l2tp', 'later'];

test('services have names, in a column short ones, and one that is not known here stays as it is', () => {
  expect(servicesText(services)).toBe(
    'HTTP proxy, HTTPS proxy (over TLS), IKEv2 VPN, L2TP VPN, later',
  );
  expect(shortServices(services)).toBe('HTTP, HTTPS, VPN, later');
});

// Where things are in the tests of the whole system: loopback addresses and ports that no other
// test has.

/**
 * Test files that run at once have other addresses, and other ports; other runs have other
 * addresses.
 */
const slot = (2 * process.pid + Number(process.env.VITEST_POOL_ID ?? 0)) % 100;
const network = `127.${100 + slot}`;

/** The addresses that proxies may dial: the origins. */
export const originNetwork = `${network}.2.0/24`;
export const originIp = `${network}.2.1`;
export const otherOriginIp = `${network}.2.2`;
/** Knows no name: what resolves does so by custom DNS. */
export const nameServerIp = `${network}.2.53`;
const controlIp = `${network}.1.1`;
const firstPort = 31_000;
const firstShift = 14_000 + (slot % 2) * 250;

let controls = 0;
let nodes = 0;
let clients = 0;

export interface NodePlace {
  listen_host: string;
  /**
   * Its ports are its own even where another node has another address: the kernel's list of sockets
   * goes by port.
   */
  port_shift: number;
  exit_ip: string;
}

export function nextNodePlace(): NodePlace {
  nodes += 1;
  return {
    listen_host: `${network}.3.${nodes}`,
    port_shift: firstShift + 5 * nodes,
    exit_ip: `${network}.5.${nodes}`,
  };
}

/**
 * Where a control plane listens, for accounts and nodes, and for operators. Below the ports that
 * the system gives away.
 */
export function nextControlPlace(): { listen: string; admin_listen: string } {
  controls += 2;
  const port = firstPort + controls;
  return { listen: `${controlIp}:${port}`, admin_listen: `${controlIp}:${port + 1}` };
}

/** An address that no client has had. */
export function nextClientIp(): string {
  clients += 1;
  return `${network}.4.${clients}`;
}

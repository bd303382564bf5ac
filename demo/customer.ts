// A customer of the demo: lists an address for some minutes, again and again, so that the nodes
// have changes to follow.
import { setTimeout as sleep } from 'node:timers/promises';
import { draws } from './life.ts';

export interface Customer {
  base_url: string;
  api_token: string;
}

const listedSeconds = 600;
const pauseSeconds = 60;

/** Goes on until the signal is aborted; what fails is left to the next time. */
export async function keepListing({ base_url, api_token }: Customer, signal: AbortSignal) {
  const random = draws('customer');
  const headers = {
    authorization: `Basic ${Buffer.from(`:${api_token}`).toString('base64')}`,
    'content-type': 'application/json',
  };
  while (!signal.aborted) {
    const ip = `198.51.100.${Math.floor(256 * random())}`;
    const expiry = Math.floor(Date.now() / 1000) + listedSeconds;
    const body = JSON.stringify({ ip, user: 'proxy', expiry });
    const url = `${base_url}/v0/contract/ip-authlist`;
    await fetch(url, { method: 'POST', headers, body, signal })
      .then((response) => response.arrayBuffer())
      .catch(() => {});
    const pause = pauseSeconds * (0.5 + random());
    await sleep(1000 * pause, undefined, { signal }).catch(() => {});
  }
}

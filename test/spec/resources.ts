// The spec's tables of resources as data: a row for each field, with the value that it has in the
// test's world.
import { expect } from 'vitest';
import type { Variant } from '../../server/src/api/account/session.ts';
import { authlistPath, begin, day, type World } from './world.ts';

export interface Field {
  field: string;
  type: string;
  notes: string;
  /**
   * The fields that the current variant shows, and the earlier one too unless `earlier` says
   * otherwise.
   */
  value: unknown;
  /** The value that the earlier variant shows; null: the field is not there. */
  earlier?: unknown;
  /** The word of `detail` with which the field is present. */
  when?: 'location' | 'usage' | 'geostatus';
}

export interface Resource {
  resource: string;
  rows: Field[];
  /** The `detail` with which all fields are there. */
  detail?: string;
  /** The one variant that has this resource; both when absent. */
  only?: Variant;
  // biome-ignore lint/suspicious/noExplicitAny: records of any shape
  read(world: World, variant: Variant, detail: string): Promise<any>;
}

const query = (detail: string) => (detail ? `?detail=${detail}` : '');

async function contractServer(world: World, variant: Variant, detail: string) {
  return (await world.as(variant).get(`/contract/servers/fra1${query(detail)}`)).body;
}

const allServices = ['proxy', 'proxy-https', 'vpn-ikev1', 'vpn-ikev2', 'vpn-l2tp'];
const frankfurt = { city: 'Frankfurt', country: 'DE', latitude: 50.1155, longitude: 8.6842 };
const expiry = begin + 500 * day;
/** The row that all entries of lists begin with. */
const entryId: Field = {
  field: 'id',
  type: 'integer',
  notes: 'unique identifier used to manage the entry',
  value: expect.any(Number),
};
/** The period began ten days before the walk, and ends a calendar month after that. */
const period = { start: begin - 10 * day, end: begin + 21 * day, usage: 350, limit: 1_000_000 };

export const resources: Resource[] = [
  {
    resource: 'Network server record',
    detail: 'location',
    read: async (world, variant, detail) =>
      (await world.as(variant).get(`/servers${query(detail)}`)).body[0],
    rows: [
      {
        field: 'hostname',
        type: 'string',
        notes: 'fully-qualified domain name of the server',
        value: 'fra1.exitward.example',
      },
      {
        field: 'title',
        type: 'string',
        notes: 'server title, current variant only',
        value: 'Frankfurt',
        earlier: null,
      },
      {
        field: 'ip_count',
        type: 'integer',
        notes: 'number of exit IP addresses available',
        value: 4,
      },
      {
        field: 'services',
        type: 'array of string',
        notes: 'services available, in the words of the variant',
        value: allServices,
        earlier: ['proxy', 'vpn'],
      },
      {
        field: 'location',
        type: 'object',
        notes: 'a Location',
        value: frankfurt,
        when: 'location',
      },
    ],
  },
  {
    resource: 'Location object',
    detail: 'location',
    read: async (world, variant, detail) => (await contractServer(world, variant, detail)).location,
    rows: [
      { field: 'city', type: 'string', notes: 'city that houses the server', value: 'Frankfurt' },
      { field: 'country', type: 'string', notes: 'ISO-3166-1 alpha-2 country code', value: 'DE' },
      { field: 'latitude', type: 'float', notes: 'latitude', value: 50.1155 },
      { field: 'longitude', type: 'float', notes: 'longitude', value: 8.6842 },
    ],
  },
  {
    resource: 'Contract record',
    read: async (world, variant) => (await world.as(variant).get('/contract')).body,
    rows: [
      { field: 'name', type: 'string', notes: 'contract/account name', value: 'acme' },
      { field: 'plan', type: 'string', notes: 'plan name', value: 'Team' },
      { field: 'period', type: 'object', notes: 'start, end, usage and limit', value: period },
      { field: 'expiry', type: 'integer', notes: 'timestamp', value: begin + 300 * day },
    ],
  },
  {
    resource: 'Contract record: period',
    read: async (world, variant) => (await world.as(variant).get('/contract')).body.period,
    rows: [
      { field: 'start', type: 'integer', notes: 'timestamp', value: period.start },
      { field: 'end', type: 'integer', notes: 'timestamp', value: period.end },
      { field: 'usage', type: 'integer', notes: 'bytes (not shown)', value: 350 },
      { field: 'limit', type: 'integer', notes: 'bytes (not shown)', value: 1_000_000 },
    ],
  },
  {
    resource: 'Contract server record',
    detail: 'usage,location',
    read: contractServer,
    rows: [
      { field: 'server', type: 'string', notes: 'short server name', value: 'fra1' },
      {
        field: 'hostname',
        type: 'string',
        notes: 'fully-qualified domain name',
        value: 'fra1.exitward.example',
      },
      {
        field: 'title',
        type: 'string',
        notes: 'current variant only',
        value: 'Frankfurt',
        earlier: null,
      },
      {
        field: 'services',
        type: 'array of string',
        notes: 'same values as in the network server record, per variant',
        value: allServices,
        earlier: ['proxy', 'vpn'],
      },
      {
        field: 'usage',
        type: 'object',
        notes: 'a Usage object',
        value: { limit: 400_000, current: 300, last_30_days: 1300 },
        when: 'usage',
      },
      {
        field: 'location',
        type: 'object',
        notes: 'a Location',
        value: frankfurt,
        when: 'location',
      },
      {
        field: 'ips',
        type: 'array of IP detail',
        notes: 'exit IP addresses of the server',
        value: [
          { ip: '198.51.100.1', port_base: 1, status: 'ok', status_time: begin - 60 },
          { ip: '198.51.100.2', port_base: 2, status: 'warn', status_time: begin - 50 },
          { ip: '198.51.100.3', port_base: 3, status: 'crit', status_time: begin - 40 },
          { ip: '198.51.100.4', port_base: 4, status: 'unknown', status_time: 0 },
        ],
      },
    ],
  },
  {
    resource: 'Usage object',
    detail: 'usage',
    read: async (world, variant, detail) => (await contractServer(world, variant, detail)).usage,
    rows: [
      { field: 'limit', type: 'integer', notes: 'bytes', value: 400_000 },
      {
        field: 'current',
        type: 'integer',
        notes: 'bytes logged for the current billing period',
        value: 300,
      },
      {
        field: 'last_30_days',
        type: 'integer',
        notes: 'bytes logged for the last 30 days',
        value: 1300,
      },
    ],
  },
  {
    resource: 'IP detail object',
    detail: 'geostatus',
    read: async (world, variant, detail) => (await contractServer(world, variant, detail)).ips[0],
    rows: [
      { field: 'ip', type: 'string', notes: 'exit IP address', value: '198.51.100.1' },
      {
        field: 'port_base',
        type: 'integer',
        notes: 'value added to the account port scheme to reach this IP',
        value: 1,
      },
      {
        field: 'status',
        type: 'string',
        notes: 'server availability: ok, warn, crit or unknown',
        value: 'ok',
      },
      {
        field: 'status_time',
        type: 'integer',
        notes: 'timestamp of the last status check',
        value: begin - 60,
      },
      {
        field: 'geostatus',
        type: 'object',
        notes: 'one property per geo-IP provider, each with status and status_time',
        value: {
          dbip: { status: 'crit', status_time: begin - 30 },
          ip2location: { status: 'warn', status_time: begin - 30 },
          maxmind: { status: 'ok', status_time: begin - 30 },
        },
        when: 'geostatus',
      },
    ],
  },
  {
    resource: 'User record',
    only: 'current',
    read: async (world) => (await world.as('current').get('/users')).body[1],
    rows: [
      { field: 'id', type: 'integer', notes: 'numeric user id', value: 2 },
      {
        field: 'name',
        type: 'string',
        notes: 'username the user authenticates with',
        value: 'bob',
      },
      { field: 'display_name', type: 'string', notes: 'descriptive name', value: 'bob' },
      { field: 'active', type: 'boolean', notes: 'whether the user is enabled', value: true },
      {
        field: 'flags',
        type: 'object',
        notes: 'booleans proxy, billing, admin',
        value: { proxy: false, billing: true, admin: false },
      },
      {
        field: 'token_version',
        type: 'integer',
        notes: 'increasing it invalidates all earlier tokens of that user',
        value: 1,
      },
    ],
  },
  {
    resource: 'Authlist entry (earlier variant: whitelist entry)',
    read: async (world, variant) => {
      const path = authlistPath[variant];
      const ip = `192.0.2.${variant.length}`;
      const client = world.as(variant);
      const { body } = await client.post(path, { ip, user: 'alice', expiry });
      const { body: entry } = await client.get(`${path}/${body.id}`);
      await client.delete(`${path}/${body.id}`);
      return entry;
    },
    rows: [
      entryId,
      { field: 'ip', type: 'string', notes: 'IP address', value: '192.0.2.7' },
      {
        field: 'user',
        type: 'string',
        notes: 'username that connections from ip are assigned to',
        value: 'alice',
      },
      {
        field: 'user_active',
        type: 'boolean',
        notes: 'whether the associated user is an active proxy user',
        value: true,
      },
      {
        field: 'expiry',
        type: 'integer',
        notes: 'timestamp at which the entry expires',
        value: expiry,
      },
    ],
  },
  {
    resource: 'Custom DNS entry (earlier variant: hostname override)',
    read: async (world, variant) => {
      const path = '/contract/overrides';
      const client = world.as(variant);
      const sent = { server: 'fra1', hostname: 'www.example.org', ip: '192.0.2.9', expiry };
      const { body } = await client.post(path, sent);
      const { body: entry } = await client.get(`${path}/${body.id}`);
      await client.delete(`${path}/${body.id}`);
      return entry;
    },
    rows: [
      entryId,
      {
        field: 'server',
        type: 'string',
        notes: 'short name of the proxy server where the entry is active',
        value: 'fra1',
      },
      {
        field: 'hostname',
        type: 'string',
        notes: 'hostname that is overridden',
        value: 'www.example.org',
      },
      {
        field: 'ip',
        type: 'string',
        notes: 'IP address the hostname resolves to',
        value: '192.0.2.9',
      },
      {
        field: 'expiry',
        type: 'integer',
        notes: 'timestamp at which the entry expires',
        value: expiry,
      },
      {
        field: 'status',
        type: 'string',
        notes: 'one of pending, active, expiring, expired',
        value: 'pending',
      },
    ],
  },
];

// Metrics: the server's counts about itself, in the format of Prometheus, on their own listener.
import { statfs } from 'node:fs/promises';
import type { Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { metricsListener } from '../../../kit/src/metrics_listener.ts';
import { version } from '../values/version.ts';

export class Metrics {
  readonly registry = new Registry();
  readonly requests = new Counter({
    name: 'exitward_http_requests_total',
    help: 'Requests by route, method and status.',
    labelNames: ['route', 'method', 'status'],
    registers: [this.registry],
    collect: () => this.#countHits(),
  });
  readonly latency = new Histogram({
    name: 'exitward_http_request_seconds',
    help: 'Time from the request line to the last byte of the response, for requests that reach the router.',
    labelNames: ['route'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [this.registry],
  });
  readonly cacheHits = new Counter({
    name: 'exitward_cache_hits_total',
    help: 'GETs answered with a cached response, by status.',
    labelNames: ['status'],
    registers: [this.registry],
    collect: () => this.#countHits(),
  });
  readonly groups = new Histogram({
    name: 'exitward_database_group_seconds',
    help: 'Time of a group of writes, from begin to durable commit.',
    buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [this.registry],
  });
  readonly groupActions = this.#counter(
    'database_actions_total',
    'Write actions; divided by groups: how many share a commit.',
  );
  readonly streamLag = this.#gauge(
    'node_lag_revisions',
    'Revisions that a node has not yet acknowledged of those that concern it.',
    'server',
    'node',
  );
  readonly nodeFaults = this.#gauge(
    'node_faults',
    'Faults that a node has, by kind; none of a kind is no sample.',
    'server',
    'node',
    'kind',
  );
  readonly nodeFaultsSince = this.#gauge(
    'node_faults_since_seconds',
    'Since when it has the oldest of them, in epoch seconds.',
    'server',
    'node',
    'kind',
  );
  readonly sweeps = this.#counter('sweeps_total', 'Sweeps by job and outcome.', 'job', 'outcome');
  readonly swept = this.#counter(
    'swept_records_total',
    'Records that sweeps ended or purged, by job.',
    'job',
  );

  readonly nodeLive = this.#gauge(
    'node_live',
    'Whether a node acknowledges: 0 for one that is offline.',
    'server',
    'node',
  );
  readonly nodeSeen = this.#gauge(
    'node_seen_timestamp_seconds',
    'When a node was last heard, in epoch seconds.',
    'server',
    'node',
  );
  readonly diskFree = this.#gauge('disk_free_bytes', 'Free space where the data folder is.');
  readonly diskSize = this.#gauge('disk_size_bytes', 'Size of the file system of the data folder.');
  /** For the accounts that a setting names. */
  readonly accounts = {
    usage: this.#ofAccount('usage_bytes', 'Bytes of the running billing period.'),
    limit: this.#ofAccount('limit_bytes', 'Bytes that the contract allows in a period.'),
    over_limit: this.#ofAccount('over_limit', 'Whether the limit is used up.'),
    suspended: this.#ofAccount('suspended', 'Whether the contract is suspended.'),
    period_start: this.#ofAccount('period_start_timestamp_seconds', 'Start of the period.'),
    period_end: this.#ofAccount('period_end_timestamp_seconds', 'End of the period.'),
    expiry: this.#ofAccount('expiry_timestamp_seconds', 'When the contract expires.'),
  };

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    const build = this.#gauge('build_info', 'Always 1.', 'version', 'node_version');
    build.set({ version, node_version: process.version }, 1);
  }

  #gauge(name: string, help: string, ...labelNames: string[]): Gauge {
    const registers = [this.registry];
    return new Gauge({ name: `exitward_${name}`, help, labelNames, registers });
  }

  #counter(name: string, help: string, ...labelNames: string[]): Counter {
    const registers = [this.registry];
    return new Counter({ name: `exitward_${name}`, help, labelNames, registers });
  }

  #ofAccount(name: string, help: string): Gauge {
    return this.#gauge(`account_${name}`, help, 'account');
  }

  /**
   * Hits since the last scrape, by route: a labelled counter would cost as much as the hit itself.
   */
  readonly #hits = new Map<string, { 200: number; 304: number }>();

  /** Counts a GET that was answered from the cache. */
  noteHit(route: string, status: 200 | 304): void {
    const hits = this.#hits.get(route);
    if (hits) hits[status] += 1;
    else this.#hits.set(route, { 200: 0, 304: 0, [status]: 1 });
  }

  #countHits(): void {
    for (const [route, hits] of this.#hits) {
      for (const status of [200, 304] as const) {
        if (hits[status] === 0) continue;
        this.requests.inc({ route, method: 'GET', status }, hits[status]);
        this.cacheHits.inc({ status }, hits[status]);
      }
    }
    this.#hits.clear();
  }

  /** Shows how full the file system of this folder is. */
  async showDisk(folder: string): Promise<void> {
    const { bavail, blocks, bsize } = await statfs(folder);
    this.diskFree.set(bavail * bsize);
    this.diskSize.set(blocks * bsize);
  }

  /** Shows when the TLS certificate expires, and when it should have been renewed. */
  watchCertificate(read: () => { not_after: number; renewal_due: number }): void {
    this.#watch(
      'certificate_expiry_seconds',
      'When the TLS certificate of this process ends, in epoch seconds.',
      () => read().not_after,
    );
    this.#watch(
      'certificate_renewal_due_seconds',
      'When the TLS certificate of this process should have been renewed, in epoch seconds.',
      () => read().renewal_due,
    );
  }

  /** Shows how many change streams this process has open. */
  countStreams(size: () => number): void {
    this.#watch('node_streams', 'Change streams that are open on this process.', size);
  }

  /** A gauge that is read at each scrape. */
  #watch(name: string, help: string, read: () => number): void {
    const gauge: Gauge = new Gauge({
      name: `exitward_${name}`,
      help,
      registers: [this.registry],
      collect: () => gauge.set(read()),
    });
  }
}

/** A database that does not answer must not block the metrics. */
const refreshMs = 1000;

/** Serves only `/metrics`. `refresh` runs before each scrape. */
export function metricsServer(metrics: Metrics, refresh: () => Promise<unknown>): Server {
  return metricsListener(metrics.registry.contentType, async () => {
    const late = new AbortController();
    await Promise.race([
      refresh().catch(() => {}),
      sleep(refreshMs, undefined, { signal: late.signal }).catch(() => {}),
    ]);
    late.abort();
    return metrics.registry.metrics();
  });
}

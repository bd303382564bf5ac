// The metrics that are read at each scrape: nodes, watched accounts, the disk.
import { statfs } from 'node:fs/promises';
import { findAccountNamed } from './accounts/accounts.ts';
import type { Context } from './context.ts';
import { faultsByNode, listNodes, nodeLag } from './nodes/nodes.ts';
import { periodUsage } from './usage/usage.ts';
import { periodAt } from './values/periods.ts';

const maxLagCounted = 10_000;

/** A part that cannot be read stays as it was. */
export async function refreshMetrics(ctx: Context): Promise<void> {
  await Promise.allSettled([refreshDisk(ctx), refreshNodes(ctx), refreshAccounts(ctx)]);
}

async function refreshDisk({ config, metrics }: Context): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(config.data_dir);
  metrics.diskFree.set(bavail * bsize);
  metrics.diskSize.set(blocks * bsize);
}

async function refreshNodes({ db, metrics }: Context): Promise<void> {
  const nodes = (await listNodes(db)).filter((node) => node.revoked_at === null);
  const faults = await faultsByNode(db);
  const lags = await Promise.all(
    nodes.map((node) => nodeLag(db, node.server_id, node.applied_revision, maxLagCounted)),
  );
  const { nodeLive, nodeSeen, streamLag, nodeFaults, nodeFaultsSince } = metrics;
  for (const gauge of [nodeLive, nodeSeen, streamLag, nodeFaults, nodeFaultsSince]) gauge.reset();
  for (const [at, { id, server, live, seen_at }] of nodes.entries()) {
    const node = String(id);
    nodeLive.set({ server, node }, live);
    nodeSeen.set({ server, node }, seen_at);
    streamLag.set({ server, node }, lags[at] as number);
    for (const [kind, ofKind] of Map.groupBy(faults.get(id) ?? [], ({ kind }) => kind)) {
      nodeFaults.set({ server, node, kind }, ofKind.length);
      nodeFaultsSince.set({ server, node, kind }, Math.min(...ofKind.map(({ since }) => since)));
    }
  }
}

/**
 * Only the accounts that the setting names: a network may have more than a time series database
 * should hold.
 */
async function refreshAccounts({ config, db, clock, metrics }: Context): Promise<void> {
  const now = clock.now();
  const watched = await Promise.all(
    config.metrics_accounts.map(async (name) => {
      const account = await findAccountNamed(db, name);
      if (!account) return [];
      const period = periodAt(account.start, now);
      const { total } = await periodUsage(db, account.id, period.start);
      return [{ account, period, total }];
    }),
  );
  for (const gauge of Object.values(metrics.accounts)) gauge.reset();
  for (const { account, period, total } of watched.flat()) {
    const labels = { account: account.name };
    const { usage, limit, over_limit, suspended, period_start, period_end, expiry } =
      metrics.accounts;
    usage.set(labels, total);
    limit.set(labels, account.limit_bytes);
    over_limit.set(labels, account.over_limit);
    suspended.set(labels, account.suspended);
    period_start.set(labels, period.start);
    period_end.set(labels, period.end);
    expiry.set(labels, account.expiry);
  }
}

// The ports at an exit that belong to one client of the VPN while connections are logged, so that a
// port identifies the client (RFC 6888, RFC 7422).
import type { PortRange } from '../policy/decision.ts';

/** Those of an exit: all ports from 1024. */
const portBlocks = 64;
const portsInBlock = 1008;
const firstPort = 1024;

/**
 * Selects a block for the next client of an exit: preferably a free one, then one that does not
 * overlap with `avoided`, then the first after `last`, so that each stays unused for long. `inUse`:
 * the blocks of the exit's clients.
 */
export function chooseBlock(
  inUse: Iterable<PortRange>,
  avoided: PortRange,
  last: PortRange | undefined,
): PortRange {
  const clients = new Map<number, number>();
  for (const { first } of inUse) clients.set(first, (clients.get(first) ?? 0) + 1);
  const start = last ? indexOf(last) + 1 : 0;
  const blocks = Array.from({ length: portBlocks }, (_, at) => blockAt((start + at) % portBlocks));
  const cost = (block: PortRange) =>
    2 * (clients.get(block.first) ?? 0) + Number(overlaps(block, avoided));
  return blocks.reduce((best, block) => (cost(block) < cost(best) ? block : best));
}

function blockAt(index: number): PortRange {
  const first = firstPort + index * portsInBlock;
  return { first, last: first + portsInBlock - 1 };
}

const indexOf = ({ first }: PortRange) => (first - firstPort) / portsInBlock;

const overlaps = (block: PortRange, other: PortRange) =>
  block.first <= other.last && other.first <= block.last;

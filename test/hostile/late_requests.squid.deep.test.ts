// Late requests against Squid, with the times of its configuration.
import { startSquidNode } from '../../agent/test/squid_node.ts';
import { lateRequests } from './late_requests.ts';

lateRequests('the Squid engine', startSquidNode, {
  first_request_ms: 20_000,
  next_request_ms: 60_000,
});

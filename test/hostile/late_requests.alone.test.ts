// Late requests against the embedded engine, which is less patient here than it is.
import { startEmbeddedNode } from '../../agent/test/embedded_node.ts';
import { lateRequests } from './late_requests.ts';

const patience = { first_request_ms: 2000, next_request_ms: 3000 };
lateRequests('the embedded engine', (node) => startEmbeddedNode(node, patience), patience);

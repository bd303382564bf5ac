// Idle connections against the embedded engine, by IPv4.
import { startEmbeddedNode } from '../../agent/test/embedded_node.ts';
import { ipv4 } from '../../agent/test/scenarios/family.ts';
import { idleConnections } from './idle_connections.ts';

idleConnections('the embedded engine', startEmbeddedNode, ipv4);

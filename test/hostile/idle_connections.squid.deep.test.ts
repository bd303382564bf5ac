// Idle connections against Squid by IPv4 and IPv6, and against the embedded engine by IPv6, whose
// addresses need a namespace.
import { startEmbeddedNode } from '../../agent/test/embedded_node.ts';
import { addIpv6, ipv4, ipv6 } from '../../agent/test/scenarios/family.ts';
import { startSquidNode } from '../../agent/test/squid_node.ts';
import { addAttackers, idleConnections } from './idle_connections.ts';

addIpv6();
addAttackers(ipv6);
idleConnections('the Squid engine', startSquidNode, ipv4);
idleConnections('the Squid engine', startSquidNode, ipv6);
idleConnections('the embedded engine', startEmbeddedNode, ipv6);

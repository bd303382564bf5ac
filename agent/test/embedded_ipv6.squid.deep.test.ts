// The embedded engine, by the scenarios that every engine must pass: by IPv6, whose addresses need
// a namespace, as Squid does.
import { startEmbeddedNode } from './embedded_node.ts';
import { engineScenarios } from './scenarios/engine_scenarios.ts';
import { addIpv6, ipv4, ipv6 } from './scenarios/family.ts';

addIpv6();
engineScenarios('the embedded engine', startEmbeddedNode, ipv6, ipv4);

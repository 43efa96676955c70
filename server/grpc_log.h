// What gRPC has to say, in our log.
#pragma once

namespace penstock::server {

// From now on gRPC's own messages are events of our log, instead of lines of
// another form on standard error: its errors as warnings, the rest not at all,
// at most 20 a minute, because whoever reaches the port can cause them.
void RouteGrpcLog();

}  // namespace penstock::server

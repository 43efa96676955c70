/usr/bin/python3 -c 'import grpc, google.protobuf, xxhash' || {
  echo 'no modules of gRPC (python3-grpcio, python3-xxhash)'
  exit 77
}

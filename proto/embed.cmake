# Writes the file FROM as a C++ array into TO:
#   cmake -DFROM=spec.pb -DTO=spec.cc -P embed.cmake
file(READ "${FROM}" hex HEX)
string(LENGTH "${hex}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
file(WRITE "${TO}"
     "#include <cstddef>\n"
     "namespace penstock {\n"
     "extern const unsigned char kSpecComments[];\n"
     "extern const std::size_t kSpecCommentsSize;\n"
     "const unsigned char kSpecComments[] = {${bytes}};\n"
     "const std::size_t kSpecCommentsSize = ${size};\n"
     "}  // namespace penstock\n")

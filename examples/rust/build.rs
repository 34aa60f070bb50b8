// Generates the stubs from the contract. protox is a protobuf compiler in Rust, so
// no protoc is needed.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=../../proto/llmd");
    let files = protox::compile(["llmd/v1/inference_service.proto", "llmd/v1/model_service.proto"], ["../../proto"])?;
    tonic_prost_build::configure().build_server(false).compile_fds(files)?;
    Ok(())
}
